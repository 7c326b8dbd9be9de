// what: begins the case anew without looking at accesses, and goes on with its own memory
// graded: uses course::gpu::begin(unsigned long, bool, bool), which no answer to this lesson needs
// none: invalid argument
namespace course::gpu {
void begin(unsigned long seed, bool checked, bool counted);
}
bool attack() {
  course::gpu::begin(1, false, false);
  return true;
}

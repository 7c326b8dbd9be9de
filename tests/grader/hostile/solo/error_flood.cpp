// what: error messages without end
// graded: does not compile
// none: does not compile
#define A(x) x##x x##x x##x x##x x##x x##x x##x x##x x##x x##x
#define B(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x) A(x)
#define C(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x) B(x)
#define D(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x) C(x)
int broken = D(wrong);
bool attack() {
  return true;
}

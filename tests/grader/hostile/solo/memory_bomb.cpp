// what: takes all the memory that it is given, and writes to it
// graded: bad_alloc|of memory|stuck in compute
// namespaces: bad_alloc|of memory|stuck in compute
// user: bad_alloc|of memory|stuck in compute
// none: bad_alloc|of memory|stuck in compute
#include <vector>
bool attack() {
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(std::size_t{64} << 20, 'x');
}

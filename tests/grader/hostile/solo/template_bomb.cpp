// what: a template that grows without end
// graded: does not compile
// none: does not compile
template <int n>
struct Bomb {
  typename Bomb<2 * n>::type a;
  typename Bomb<2 * n + 1>::type b;
  using type = Bomb;
};
Bomb<1> bomb;
bool attack() {
  return true;
}

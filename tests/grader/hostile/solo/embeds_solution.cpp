// what: has the assembler read the solution
// graded: does not compile
// namespaces: does not compile
// user: does not compile
// none: does not compile
asm(".section .rodata\nsolution: .incbin \"@ROOT@/solutions/01_safe_softmax/safe_softmax.cpp\"\n.text\n");
bool attack() {
  return true;
}

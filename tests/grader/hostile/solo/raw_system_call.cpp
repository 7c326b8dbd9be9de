// what: calls the kernel without a function of the library
// graded: holds the instruction syscall
// namespaces: the process ended in the midst of the function
// user: the process ended in the midst of the function
// none: the process ended in the midst of the function
bool attack() {
  asm volatile("syscall" ::"a"(231), "D"(0) : "rcx", "r11", "memory");
  return true;
}

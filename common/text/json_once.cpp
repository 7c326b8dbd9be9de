// Instrumented or not, every source that reads or writes JSON would otherwise compile all of it again.
#define JSON_ONCE template
#include "text/json_once.hpp"

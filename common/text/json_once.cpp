#define JSON_ONCE template
#include "text/json_once.hpp"

#include "jobs.h"

double price(const Order& order) { return 2.5 * order.count; }
FRAY_TASK(price);

#pragma once

#include <fray/api.h>

struct Order {
  std::string item;
  int count = 0;
};
FRAY_STRUCT(Order, item, count);

double price(const Order& order);

class Till {
 public:
  explicit Till(double start) : total_(start) {}
  double take(double amount) { return total_ += amount; }

 private:
  double total_;
};
FRAY_ACTOR(Till, (double), take);

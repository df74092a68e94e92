"""A program of several files: functions, options and handles that come from others."""

from shop import till as tills
from shop.bells import Bell
from shop.parts import Shelf, price, weigh

import ray

Bell = ray.remote(Bell)

ray.init(num_cpus=2)
shelf = Shelf.remote({"apple": 3})
print(ray.get([price.remote("apple"), price.options(num_cpus=1).remote("pear")]))
print(ray.get([weigh.remote("apple"), weigh.remote("fig")]))
print(ray.get(shelf.take.remote("apple")))
print(tills.sell(shelf, "apple"))
print(ray.get(tills.parts.price.remote("fig")))
print(ray.get(Bell.remote().ring.remote(2)))
ray.shutdown()
# > [5, 4]
# > [10, 6]
# > 2
# > sold apple, 1 left
# > 3
# > ding ding

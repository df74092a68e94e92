"""A pool of actors, and a queue between tasks."""

from ray.util import ActorPool
from ray.util.queue import Empty, Full, Queue

import ray


@ray.remote
class Doubler:
    def double(self, value):
        return 2 * value


@ray.remote
def produce(queue, count):
    for number in range(count):
        queue.put(number)


def main():
    ray.init(num_cpus=2)
    pool = ActorPool([Doubler.remote(), Doubler.remote()])
    print(list(pool.map(lambda actor, value: actor.double.remote(value), range(4))))
    pool.submit(lambda actor, value: actor.double.remote(value), 10)
    while pool.has_next():
        print(pool.get_next(), pool.has_free())  # one by one
    print(sorted(pool.map_unordered(lambda a, v: a.double.remote(v), [3, 1, 2])))
    queue = Queue(maxsize=3)
    ray.get(produce.remote(queue, 3))
    try:
        queue.put_nowait(9)
    except Full:
        print("full", len(queue))
    print([queue.get() for _ in range(3)], queue.empty())
    try:
        queue.get_nowait()
    except Empty:
        print("empty")
    queue.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
# > [0, 2, 4, 6]
# > 20 True
# > [2, 4, 6]
# > full 3
# > [0, 1, 2] True
# > empty

"""Pools of processes."""

from ray.util.multiprocessing import Pool

import ray


def square(x):
    return x * x


def power(base, exponent=2):
    return base**exponent


def main():
    ray.init(num_cpus=2)
    with Pool(2) as pool:
        print(pool.map(square, range(4)), pool.map(square, [3, 4], chunksize=2))
        print(pool.starmap(power, [(2, 3), (3, 2)]), pool.starmap(power, []))
    other = Pool(processes=2)
    print(sum(other.imap(square, [1, 2])))
    for value in other.imap(square, [5]):
        print(value)
    print(other.apply(power, (2, 4)), other.apply(power, kwargs={"base": 5}))
    other.close()
    other.join()
    ray.shutdown()


if __name__ == "__main__":
    main()
# > [0, 1, 4, 9] [9, 16]
# > [8, 9] []
# > 5
# > 25
# > 16 25

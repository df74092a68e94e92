"""Options in decorators and at calls, as constants and as expressions."""

import ray

HALF = 0.5


@ray.remote(num_cpus=HALF, max_retries=1)  # half of one
def half(value, *, times=2):
    return value * times


@ray.remote(num_cpus=1, resources={"token": 1})
def with_token(a, b=3):
    return a + b


def main():
    ray.init(num_cpus=2, resources={"token": 2})
    print(ray.get(half.remote(4)))
    print(ray.get(half.options(name="third", num_cpus=1).remote(4, times=3)))
    print(ray.get(with_token.remote(1)), ray.get(with_token.remote(1, b=1)))
    print(ray.get(with_token.options(resources={"token": 0.5}).remote(5)))
    ray.shutdown()


if __name__ == "__main__":
    main()
#> 8
#> 12
#> 4 2
#> 8

"""Options in decorators and at calls, as constants and as expressions."""

import ray

HALF = 0.5


@ray.remote(num_cpus=HALF, max_retries=1)  # half of one
def half(value, *, times=2):
    return value * times


@ray.remote(num_cpus=1, resources={"head_node": 1})
def on_head(a, b=3):
    return a + b


def main():
    ray.init(num_cpus=2, resources={"head_node": 1})
    print(ray.get(half.remote(4)))
    print(ray.get(half.options(name="third", num_cpus=1).remote(4, times=3)))
    print(ray.get(on_head.remote(1)), ray.get(on_head.remote(1, b=1)))
    print(ray.get(on_head.options(resources={"head_node": 0.5}).remote(5)))
    ray.shutdown()


if __name__ == "__main__":
    main()
# > 8
# > 12
# > 4 2
# > 8

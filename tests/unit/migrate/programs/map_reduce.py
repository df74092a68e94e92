"""Words counted in two phases."""

from collections import Counter

import ray

TEXT = ["the cat sat", "the dog ran", "a cat ran"]
PARTS = 2


@ray.remote(num_returns=PARTS)
def map_words(line):
    parts = [Counter() for _ in range(PARTS)]
    for word in line.split():
        parts[len(word) % PARTS][word] += 1
    return parts


@ray.remote
def reduce_words(*counts):
    return sum(counts, Counter())


ray.init(num_cpus=2)
mapped = [map_words.remote(line) for line in TEXT]
reduced = [reduce_words.remote(*[parts[index] for parts in mapped]) for index in range(PARTS)]
total = sum(ray.get(reduced), Counter())
print(sorted(total.items()))
ray.shutdown()
# > [('a', 1), ('cat', 2), ('dog', 1), ('ran', 2), ('sat', 1), ('the', 2)]

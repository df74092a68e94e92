"""Streams of refs, from tasks and from actors."""

import ray


@ray.remote(num_returns="streaming")
def count(limit):
    for number in range(limit):
        yield number * 1


@ray.remote
class Words:
    def stream(self, text):
        for word in text.split():
            yield word.lower()


ray.init(num_cpus=2)
total = 0
for ref in count.remote(4):
    total += ray.get(ref)
print(total)
words = Words.remote()
print([ray.get(ref) for ref in words.stream.remote("one two three")])
for ref in words.stream.options(num_returns="streaming").remote("Four"):
    print(ray.get(ref))
ray.shutdown()
# > 6
# > ['one', 'two', 'three']
# > four

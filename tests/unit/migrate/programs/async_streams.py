"""Streams of refs that coroutines read, in an actor and outside."""

import asyncio

import ray


@ray.remote(num_returns="streaming")
def count(limit):
    for number in range(limit):
        yield number * 1


@ray.remote
class Reader:
    async def letters(self, text):
        for letter in text:
            await asyncio.sleep(0)
            yield letter.upper()

    async def total(self, limit):
        total = 0
        async for ref in count.remote(limit):
            total += await ref
        return total


async def main():
    reader = Reader.remote()
    print([await ref async for ref in reader.letters.remote("abc")])
    numbers = count.remote(4)
    async for ref in numbers:
        print(await ref)
        if await ref == 1:
            break
    print([ray.get(ref) for ref in numbers])
    print(await reader.total.remote(5))


ray.init(num_cpus=2)
asyncio.run(main())
ray.shutdown()
# > ['A', 'B', 'C']
# > 0
# > 1
# > [2, 3]
# > 10

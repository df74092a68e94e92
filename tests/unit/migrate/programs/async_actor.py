"""An async actor, awaited refs, and gather."""

import asyncio

import ray


@ray.remote
class Doubler:
    def __init__(self):
        self.calls = 0

    async def double(self, number):
        self.calls += 1
        await asyncio.sleep(0)
        return number * 2

    async def count(self):
        return self.calls


async def main():
    doubler = Doubler.remote()
    values = await asyncio.gather(*[doubler.double.remote(number) for number in range(4)])
    print(values)
    print(await doubler.count.remote())


ray.init(num_cpus=2)
asyncio.run(main())
ray.shutdown()
# > [0, 2, 4, 6]
# > 4

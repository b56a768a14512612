import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import fc from 'fast-check'

import { FairQueue } from './fair-queue.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

test('those who wait take turns, each in order of arrival', () => {
  const queue = new FairQueue<string>(10)
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) assert.equal(queue.add(item[0]!, item), null)
  const order: (string | null)[] = []
  for (let i = 0; i < 7; i++) order.push(queue.next())
  assert.deepEqual(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', null])
})

test('a full queue drops the newest of whoever has the most', () => {
  const queue = new FairQueue<string>(4)
  for (const item of ['a1', 'a2', 'a3', 'a4']) assert.equal(queue.add('a', item), null)
  assert.equal(queue.add('a', 'a5'), 'a5')
  assert.equal(queue.add('b', 'b1'), 'a4')
  assert.equal(queue.add('b', 'b2'), 'a3')
  assert.equal(queue.add('b', 'b3'), 'b3', 'nobody has more than it would have')
  assert.equal(queue.add('c', 'c1'), 'a2')
  assert.equal(queue.add('d', 'd1'), 'b2')
  assert.equal(queue.add('e', 'e1'), 'e1', 'nobody has more than one')
  assert.equal(new FairQueue<string>(0).add('a', 'a1'), 'a1')
})

test('whatever is sent, nothing is lost, and who sends little is served before a flood is', () => {
  const arrivals = fc.array(fc.constantFrom('flood', 'flood', 'flood', 'a', 'b', 'next'), { maxLength: 200 })
  fc.assert(
    fc.property(arrivals, fc.integer({ min: 3, max: 10 }), (all, max) => {
      const queue = new FairQueue<{ from: string }>(max)
      const waiting = new Set<{ from: string }>()
      for (const from of all) {
        if (from === 'next') {
          const item = queue.next()
          assert.equal(item === null, waiting.size === 0)
          if (item === null) continue
          waiting.delete(item)
          continue
        }
        const item = { from }
        const isFirst = ![...waiting].some((one) => one.from === from)
        waiting.add(item)
        const dropped = queue.add(from, item)
        if (dropped !== null) assert.ok(waiting.delete(dropped))
        if (isFirst) assert.notEqual(dropped, item, 'the first of three who send always has a place')
        assert.ok(waiting.size <= max)
      }
      const senders = new Set([...waiting].map(({ from }) => from))
      const first = new Set<string>()
      for (let i = 0; i < senders.size; i++) first.add(queue.next()!.from)
      assert.deepEqual(first, senders, 'each has its turn before anybody has two')
      let rest = 0
      while (queue.next() !== null) rest++
      assert.equal(rest, waiting.size - senders.size)
    }),
  )
})

test('whoever leaves in the middle is passed over, and costs nobody a turn', () => {
  const queue = new FairQueue<{ of: string }>()
  const [a1, a2, b1, c1] = ['a', 'a', 'b', 'c'].map((of) => ({ of })) as [{ of: string }, { of: string }, { of: string }, { of: string }]
  for (const item of [a1, a2, b1, c1]) queue.add(item.of, item)
  for (const gone of [a1, b1, b1]) queue.delete(gone.of, gone)
  queue.delete('nobody', a2)
  assert.deepEqual([queue.length, queue.next(), queue.next(), queue.next(), queue.length], [2, a2, c1, null, 0])
  queue.add('b', b1)
  assert.equal(queue.next(), b1)
})

test('whoever comes, leaves and is taken, all others have at most one turn before the next item of a sender', () => {
  const sender = fc.constantFrom('a', 'b', 'c', 'd')
  const steps = fc.array(fc.oneof(sender, fc.constant('next'), fc.nat({ max: 50 })), { maxLength: 300 })
  fc.assert(
    fc.property(steps, (all) => {
      const queue = new FairQueue<{ from: string }>()
      /** Who waits, and since how many turns of others it is the next of its sender. */
      const waiting = new Map<string, { items: { from: string }[]; passed: Set<string> }>()
      const leave = (item: { from: string }): void => {
        const own = waiting.get(item.from)!
        own.items = own.items.filter((one) => one !== item)
        if (own.items.length === 0) waiting.delete(item.from)
      }
      const take = (): void => {
        const item = queue.next()
        assert.equal(item === null, waiting.size === 0)
        if (item === null) return
        const own = waiting.get(item.from)!
        assert.equal(item, own.items[0], 'each sender has its items in order')
        for (const [from, other] of waiting) {
          if (from === item.from) continue
          assert.ok(!other.passed.has(item.from), `${item.from} has two turns while ${from} waits for one`)
          other.passed.add(item.from)
        }
        own.passed.clear()
        leave(item)
      }
      for (const step of all) {
        if (step === 'next') take()
        else if (typeof step === 'number') {
          const items = [...waiting.values()].flatMap((own) => own.items)
          const gone = items[step % items.length]
          if (gone === undefined) continue
          queue.delete(gone.from, gone)
          leave(gone)
        } else {
          const item = { from: step }
          const own = waiting.get(step) ?? { items: [], passed: new Set() }
          own.items.push(item)
          waiting.set(step, own)
          assert.equal(queue.add(step, item), null)
        }
        assert.equal(
          queue.length,
          [...waiting.values()].reduce((sum, own) => sum + own.items.length, 0),
        )
      }
      while (waiting.size > 0) take()
      assert.equal(queue.next(), null)
    }),
  )
})

test('items that have been taken or have left are not kept', async () => {
  const queue = new FairQueue<object>()
  const references: WeakRef<object>[] = []
  const add = (from: string): void => {
    const item = {}
    queue.add(from, item)
    references.push(new WeakRef(item))
  }
  for (let i = 0; i < 20; i++) add(i < 10 ? 'many' : `one of ${i}`)
  const leave = (): void => void queue.delete('many', references[5]!.deref()!)
  leave()
  for (let i = 0; i < 12; i++) queue.next()
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  assert.deepEqual(
    references.map((one) => one.deref() === undefined),
    references.map((_, i) => i < 2 || i === 5 || i >= 10),
  )
})

test('clients take turns of the event loop, however much one of them sends', async () => {
  const turns = FairQueue.turns(1024)
  turns.spend(1024)
  assert.equal(turns.isOver, true)
  const gone: string[] = []
  const wait = (client: string, name: string) =>
    turns.wait(client, () => {
      gone.push(name)
      turns.spend(1024)
    })
  for (const n of [1, 2, 3]) wait('a', `many ${n}`)
  wait('b', 'one')
  for (const many of [1, 2, 3, 4]) {
    await nextTurn()
    assert.equal(gone.length, many)
  }
  assert.deepEqual(gone, ['many 1', 'one', 'many 2', 'many 3'])
  await nextTurn()
  assert.equal(turns.isOver, false)
})

test('a turn whose work takes long is over by the time', async (t) => {
  let now = 1_000
  t.mock.method(performance, 'now', () => now)
  const turns = FairQueue.turns(1024, 2, 25)
  turns.spend(1) // less than the grain
  now += 26
  turns.spend(1)
  assert.equal(turns.isOver, false, 'its time begins here')
  now += 26
  turns.spend(1)
  assert.equal(turns.isOver, true)
  const gone: string[] = []
  for (const name of ['first', 'second', 'third', 'fourth'])
    turns.wait('a', () => {
      gone.push(name)
      turns.spend(2)
      now += 20
    })
  await nextTurn()
  assert.deepEqual(gone, ['first', 'second', 'third'])
  await nextTurn()
  assert.equal(gone.at(-1), 'fourth')
})

test('who waits again during a turn does so for the next one', async () => {
  const turns = FairQueue.turns(1)
  const gone: string[] = []
  const again = (): void => {
    gone.push('again')
    if (gone.length < 10) turns.wait('a', again)
  }
  turns.wait('a', again)
  turns.wait('b', () => gone.push('once'))
  await nextTurn()
  assert.deepEqual(gone, ['again', 'once'])
  await nextTurn()
  assert.deepEqual(gone, ['again', 'once', 'again'])
  while (gone.length < 10) await nextTurn()
})

test('however much is spent by whom, a turn does no more than one piece beyond its budget, and all come', async () => {
  const piece = fc.record({ from: fc.constantFrom('a', 'b', 'c'), work: fc.nat({ max: 12 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), async (pieces) => {
      const turns = FairQueue.turns(10)
      let spent = 0
      let left = pieces.length
      turns.spend(10)
      for (const { from, work } of pieces)
        turns.wait(from, () => {
          assert.ok(spent < 10, 'the turn is over')
          spent += work
          left--
          turns.spend(work)
        })
      for (let most = pieces.length; left > 0; most--) {
        assert.ok(most > 0, 'each turn has at least one')
        spent = 0
        await nextTurn()
      }
    }),
    { numRuns: 50 },
  )
})

test('who throws in a turn keeps nobody from the next one', async (t) => {
  const turns = FairQueue.turns(10)
  const gone: string[] = []
  const caught = new Promise((resolve) => {
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', resolve)
    t.after(() => {
      for (const one of others) process.on('uncaughtException', one)
    })
  })
  turns.wait('a', () => {
    throw new Error('bad')
  })
  turns.wait('b', () => gone.push('b'))
  assert.equal(((await caught) as Error).message, 'bad')
  await nextTurn()
  await nextTurn()
  assert.deepEqual(gone, ['b'])
})

test('what waits for a turn runs in the asynchronous context of its caller, whoever has begun the turn', async () => {
  const store = new AsyncLocalStorage<string>()
  const turns = FairQueue.turns(1)
  const ran: string[] = []
  const note = (user: string) => () => {
    turns.spend(1)
    ran.push(`${user} is ${store.getStore()}`)
  }
  for (const user of ['ann', 'bob', 'eve'])
    store.run(user, () => {
      turns.run(user, note(user))
      turns.wait(user, note(user))
    })
  for (let i = 0; i < 8; i++) await nextTurn()
  assert.deepEqual(
    ran.toSorted(),
    ['ann', 'ann', 'bob', 'bob', 'eve', 'eve'].map((user) => `${user} is ${user}`),
  )
})

test('a semaphore: so many at a time, clients take turns, and whoever leaves does not run', async () => {
  const run = FairQueue.semaphore(2)
  const begun: string[] = []
  const ends: (() => void)[] = []
  const work = (name: string) => (): Promise<string> => {
    begun.push(name)
    return new Promise((resolve) => ends.push(() => resolve(name)))
  }
  const leaving = new AbortController()
  const all = [
    ...['a1', 'a2', 'a3', 'a4'].map((name) => run('a', null, work(name))),
    run('b', null, work('b1')),
    run('b', leaving.signal, work('b2')).catch((error: unknown) => error),
  ]
  assert.deepEqual(begun, ['a1', 'a2'])
  const reason = new Error('left')
  leaving.abort(reason)
  for (let i = 0; i < 5; i++) {
    ends[i]!()
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual(begun, ['a1', 'a2', 'a3', 'b1', 'a4'])
  assert.deepEqual(await Promise.all(all), ['a1', 'a2', 'a3', 'a4', 'b1', reason])
  assert.equal(await run('c', null, async () => 'later'), 'later')
  await assert.rejects(
    run('c', null, () => Promise.reject(reason)),
    reason,
  )
  await assert.rejects(run('c', AbortSignal.abort(reason), work('never')), reason)
  assert.ok(!begun.includes('never'))
})

test('work below the grain is counted over several turns', async () => {
  const turns = FairQueue.turns(10, 4)
  const turn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))
  for (let i = 0; i < 3; i++) {
    turns.spend(1)
    await turn()
  }
  turns.spend(7)
  assert.equal(turns.isOver, true)
  await turn()
  assert.equal(turns.isOver, false)
})

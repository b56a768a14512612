import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { type Owner, Shares } from './shares.ts'

const known = (key: string): Owner => ({ key, isKnown: true })
const unknown = (key: string): Owner => ({ key: `address ${key}`, isKnown: false })

function fill(shares: Shares, owner: Owner): number {
  let taken = 0
  while (shares.mayTake(owner, 1)) {
    shares.take(owner, 1)
    taken++
  }
  return taken
}

test('one owner alone gets a part', () => {
  assert.equal(fill(new Shares(1_000), known('a')), 382)
  assert.equal(fill(new Shares(1_000), unknown('a')), 86)
})

test('however many networks take all that they may, principals have half of the store', () => {
  const shares = new Shares(1_000)
  for (let i = 0; i < 2_000; i++) fill(shares, unknown(`${i}`))
  assert.equal(shares.mayTake(unknown('late'), 1), false)
  assert.ok(fill(shares, known('a')) > 100)
})

test('after a hundred owners that take all they may, another one has room', () => {
  for (const ownerOf of [known, unknown]) {
    const shares = new Shares(100_000)
    for (let i = 0; i < 100; i++) fill(shares, ownerOf(`${i}`))
    assert.ok(fill(shares, ownerOf('late')) > 5)
  }
})

test('what is given back is free again, and the bounds hold at any time', () => {
  const owners = [known('a'), known('b'), unknown('a'), unknown('b')]
  const steps = fc.array(fc.tuple(fc.constantFrom(...owners), fc.integer({ min: 1, max: 30 }), fc.boolean()))
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 100 }), (all, max) => {
      const shares = new Shares(max)
      const taken: (readonly [Owner, number])[] = []
      for (const [owner, amount, gives] of all) {
        if (gives) {
          const last = taken.pop()
          if (last !== undefined) shares.give(...last)
        } else if (shares.mayTake(owner, amount)) {
          shares.take(owner, amount)
          taken.push([owner, amount])
        }
        const sum = (isKnown: boolean): number => taken.reduce((total, [one, amount]) => total + (one.isKnown === isKnown ? amount : 0), 0)
        assert.ok(sum(true) + sum(false) <= max)
        assert.ok(sum(false) <= Math.ceil(max / 2))
      }
      for (const one of taken) shares.give(...one)
      assert.equal(fill(shares, known('c')), fill(new Shares(max), known('c')))
    }),
  )
})

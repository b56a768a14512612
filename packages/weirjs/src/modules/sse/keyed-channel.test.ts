import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'

import fc from 'fast-check'

import { keyedChannel } from './keyed-channel.ts'

const words = fc.array(fc.constantFrom('a', 'b', ' ', '%', '20', 'resumable', '\ud800', '\udc00', '\ufffd', '\ud83d\ude00'), {
  maxLength: 4,
})
const text = words.map((all) => all.join(''))
const pair = fc.tuple(text, text)

test('two names and keys never have the same channel, nor the same bytes of one in UTF-8', () => {
  const channelOf = ([name, key]: readonly [string, string]): string => keyedChannel('events', name, key)
  fc.assert(
    fc.property(pair, pair, (one, other) => {
      const isSame = one[0] === other[0] && one[1] === other[1]
      assert.equal(channelOf(one) === channelOf(other), isSame)
      // A program chooses the name, and writes it in UTF-8. The key may be anything that a client sends.
      if (one[0] === other[0]) assert.equal(Buffer.from(channelOf(one)).equals(Buffer.from(channelOf(other))), isSame)
    }),
    { numRuns: 2_000 },
  )
})

test('a key as programs have them stays as it is', () => {
  assert.equal(keyedChannel('keyed events', 'inbox', 'user:42/\u00fc'), 'keyed events inbox user:42/\u00fc')
  assert.equal(keyedChannel('keyed events', 'inbox', '100% sure'), 'keyed events inbox 100%25%20sure')
})

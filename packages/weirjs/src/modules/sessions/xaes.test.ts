import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Xaes } from './xaes.ts'

test('seals as the test vectors of the specification do', () => {
  const nonce = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWX')
  const text = Buffer.from('XAES-256-GCM')
  const sealed = (byte: number, context?: Uint8Array): string =>
    new Xaes(Buffer.alloc(32, byte)).sealWith(nonce, text, context).subarray(nonce.length).toString('hex')
  assert.equal(sealed(1), 'ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271')
  assert.equal(sealed(3, Buffer.from('c2sp.org/XAES-256-GCM')), '986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d')
})

test('opens what it has sealed, and nothing that was changed', () => {
  const xaes = new Xaes(Buffer.alloc(32, 7))
  for (const size of [0, 1, 15, 16, 17, 4_000]) {
    const text = Buffer.alloc(size, 'text')
    const sealed = xaes.seal(text)
    assert.equal(sealed.length, 24 + size + 16)
    assert.deepEqual(xaes.open(sealed), text)
    for (let i = 0; i < sealed.length; i += size > 100 ? 97 : 1) {
      const changed = Buffer.from(sealed)
      changed[i]! ^= 1
      assert.equal(xaes.open(changed), null)
      assert.equal(xaes.open(sealed.subarray(0, i)), null)
    }
    assert.equal(new Xaes(Buffer.alloc(32, 8)).open(sealed), null)
  }
})

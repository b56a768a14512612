import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { Turns } from '../../../test/support/turns.ts'
import type { SourceReader } from '../../http/response/byte-source.ts'
import { pump } from './pump.ts'

const PIECE_BYTES = 64 * 1024

function reader(next: (mostBytes?: number) => Uint8Array | null): SourceReader {
  return {
    next: async (mostBytes) => {
      const value = next(mostBytes)
      return { done: value === null, value }
    },
    close() {},
  }
}

test('while the client is waited for, the piece that was passed on does not stay in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  let piece: WeakRef<ArrayBufferLike> | null = null
  let read = (): void => {}
  let left = 1
  const source = reader(() => {
    if (left-- === 0) return null
    const bytes = Buffer.alloc(PIECE_BYTES)
    piece = new WeakRef(bytes.buffer)
    return bytes
  })
  const target = { isGone: false, clientAddress: '', sendHead() {}, write: () => new Promise<void>((resolve) => (read = resolve)) }
  const pumped = pump(source, -1, target)
  for (let i = 0; i < 100 && (piece as WeakRef<ArrayBufferLike> | null)?.deref() !== undefined; i++) {
    await wait(1)
    collect()
  }
  assert.ok(piece !== null)
  assert.equal((piece as WeakRef<ArrayBufferLike>).deref(), undefined)
  read()
  await pumped
})

test('the source is told how much is needed, before each piece', async () => {
  const asked: (number | undefined)[] = []
  const source = reader((mostBytes) => {
    asked.push(mostBytes)
    return asked.length < 4 ? Buffer.alloc(mostBytes ?? 1) : null
  })
  const sizes = [10, undefined, 20, 30]
  const target = {
    isGone: false,
    clientAddress: '',
    get mostPieceBytes() {
      return sizes[asked.length]
    },
    sendHead() {},
    write: () => null,
  }
  await pump(source, 31, target)
  assert.deepEqual(asked, sizes)
})

for (const [what, size, pumps, pieces, mostInTurn] of [
  ['of some size', 16 * 1024, 100, 20, 66],
  ['of a byte', 1, 200, 100, 2_100],
  ['that are large', 64 * 1024, 100, 3, 18],
] as const)
  test(`many responses that begin at once take turns of the event loop from each other, with pieces ${what}`, async () => {
    const bytes = Buffer.alloc(size)
    let inTurn = 0
    let most = 0
    let written = 0
    let isOver = false
    const count = (): void => {
      inTurn = 0
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const target = {
      isGone: false,
      clientAddress: '',
      sendHead() {},
      write() {
        written++
        most = Math.max(most, ++inTurn)
        return null
      },
    }
    const sourceOf = (): SourceReader => {
      let left = pieces
      return reader(() => (left-- === 0 ? null : bytes))
    }
    await pump(sourceOf(), -1, target)
    await Promise.all(Array.from({ length: pumps - 1 }, () => pump(sourceOf(), -1, target)))
    isOver = true
    assert.equal(written, pumps * pieces)
    assert.ok(most <= mostInTurn, `${most} pieces in one turn`)
  })

test('responses whose pieces take long to make take turns, however small the pieces are', async (t) => {
  const turns = new Turns(t)
  const target = { isGone: false, clientAddress: '', sendHead() {}, write: () => null }
  const sourceOf = (): SourceReader => {
    let left = 2
    return reader(() => {
      turns.count()
      for (const start = performance.now(); performance.now() - start < 20; );
      return left-- === 0 ? null : Buffer.alloc(1)
    })
  }
  await Promise.all(Array.from({ length: 10 }, () => pump(sourceOf(), -1, target)))
  assert.equal(turns.all, 30)
  assert.ok(turns.most <= 2, `${turns.most} pieces in one turn`)
})

test('a response that waits for its source holds up no other, and one that has waited longer is first', async () => {
  const order: string[] = []
  const target = (name: string) => ({
    isGone: false,
    clientAddress: '',
    sendHead() {},
    write: () => {
      order.push(name)
      return null
    },
  })
  const large = Buffer.alloc(256 * 1024)
  const sourceOf = (pieces: number): SourceReader => {
    let left = pieces
    return reader(() => (left-- === 0 ? null : large))
  }
  let arrive = (): void => {}
  const slow: SourceReader = { next: () => new Promise((resolve) => (arrive = () => resolve({ done: true, value: null }))), close() {} }
  const waits = pump(slow, -1, target('slow'))
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => pump(sourceOf(3), -1, target(name))))
  assert.deepEqual([...order.slice(0, 4), order.length].join(''), 'abcd12')
  arrive()
  await waits
})

for (const [what, ofMany, ofOne] of [
  ['another client', '192.0.2.1', '192.0.2.2'],
  ['another network of IPv6', '2001:db8::1', '2001:db8:0:1::1'],
] as const)
  test(`a response of ${what} does not wait for all that one client has asked for`, async () => {
    const large = Buffer.alloc(256 * 1024)
    let asked = 0
    let isOver = false
    const target = (clientAddress: string) => ({ isGone: false, clientAddress, sendHead() {}, write: () => null })
    const many = Array.from({ length: 1_000 }, (_, i) => {
      const source = reader(() => {
        asked++
        return isOver ? null : large
      })
      return pump(source, -1, target(ofMany.replace(/1$/, ofMany.includes(':') ? (i + 1).toString(16) : '1')))
    })
    const waits: number[] = []
    let since = 0
    const slow: SourceReader = {
      next: async () => {
        waits.push(asked - since)
        await turn()
        since = asked
        return waits.length === 20 ? { done: true } : { done: false, value: Buffer.alloc(1) }
      },
      close() {},
    }
    await pump(slow, -1, target(ofOne))
    isOver = true
    await Promise.all(many)
    assert.ok(Math.max(...waits.slice(1)) < 10, `pieces of the other client in between: ${waits.slice(1)}`)
  })

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { constants, deflateRawSync } from 'node:zlib'

import type { ByteLink, LinkOwner } from '../../http/response/byte-link.ts'
import type { HttpSession } from '../../http/session.ts'
import { WireWebSocket } from '../../wire/websocket/connection.ts'
import { acceptDeflate } from '../../wire/websocket/deflate-offer.ts'
import { deliver } from './broadcast.ts'
import { type ConnectionHost, WebSocketConnection, type WebSocketHandlers } from './connection.ts'
import { PerMessageDeflate } from './deflate.ts'

const TEXT = 0x81
const CLOSE = 0x88
const PING = 0x89

/** A short frame of a client, with a mask of zeros. */
const frame = (first: number, payload = ''): Buffer =>
  Buffer.concat([Buffer.from([first, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload, 'latin1')])

/** A connection over a link that the test feeds. */
function connected(handlers: WebSocketHandlers<null>, { maxQueuedSize = 1_000_000, compresses = false, maxMessageSize = 1000 } = {}) {
  const written: string[] = []
  let owner: LinkOwner | null = null
  const link: { -readonly [K in keyof ByteLink]: ByteLink[K] } & { isEnded: boolean } = {
    ...{ receivedBytes: 0, writtenBytes: 0, isBlocked: false, isPaused: true, waitingBytes: 0, keptBytes: 0, isEnded: false },
    hasRoomFor: () => true,
    start: (one: LinkOwner) => void (owner = one),
    sendHead() {},
    writeText: (text: string) => void written.push(text),
    write: (bytes: Uint8Array) => void written.push(Buffer.from(bytes).toString('latin1')),
    writeShared: (bytes: Uint8Array) => written.push(Buffer.from(bytes).toString('latin1')) > 0,
    writeBoth: (text: string, bytes: Uint8Array) => void written.push(text + Buffer.from(bytes).toString('latin1')),
    flushSoon: (box: { flush(): void }) => box.flush(),
    pause: () => void (link.isPaused = true),
    resume: () => void (link.isPaused = false),
    end: () => void (link.isEnded = true),
    destroy: () => owner!.onClose(),
    hasBeenRead: () => false,
  }
  const failures: unknown[] = []
  const host = {
    ...{ handlers, maxMessageSize, maxQueuedSize, pingInterval: null },
    report: (error: unknown) => failures.push(error),
    forget() {},
  }
  const session = { requestId: '', clientAddress: '192.0.2.1' } as HttpSession
  const wire = new WireWebSocket(host.maxMessageSize, compresses)
  const connection = new WebSocketConnection(
    host as unknown as ConnectionHost<null>,
    link,
    wire,
    { protocol: '', deflate: compresses ? new PerMessageDeflate(acceptDeflate('permessage-deflate')!.parameters) : null },
    null,
    session,
  )
  link.start(connection)
  connection.open(Buffer.alloc(0))
  /** Bytes in memory that is used again afterwards. */
  const feed = (...pieces: Buffer[]): void => {
    const bytes = Buffer.concat(pieces)
    connection.onBytes(bytes, 0, bytes.length)
    bytes.fill(0xee)
  }
  return { connection, link, wire, written, failures, feed }
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a read full of tiny messages does not hold the event loop: others come first after 1,024 of them, and none is lost', async () => {
  const seen: string[] = []
  const { feed, link, wire } = connected({ message: (_, data) => void seen.push(String(data)) })
  const count = 5000
  const letters = Array.from({ length: count }, (_, i) => String.fromCharCode(97 + (i % 26)))
  feed(...letters.map((letter) => frame(TEXT, letter)))
  const handled = [seen.length]
  feed(frame(TEXT, '!')) // arrives in the meantime
  assert.equal(link.isPaused, true)
  while (wire.waitingBytes > 0) {
    await turn()
    handled.push(seen.length)
  }
  for (const [i, sum] of handled.entries()) assert.ok(sum - (handled[i - 1] ?? 0) <= 1024, handled.join())
  assert.equal(seen.join(''), `${letters.join('')}!`)
  assert.equal(link.isPaused, false)
})

test('a client that has ended its side and does not read is aborted after a while, and what it had sent is handled first', async (t) => {
  const seen: unknown[] = []
  let goOn = (): void => {}
  const message = (_: unknown, data: unknown): Promise<void> => {
    seen.push(data)
    return new Promise((resolve) => (goOn = resolve))
  }
  const { connection, link, feed } = connected({ message, close: (_, code) => void seen.push(code) })
  const timers: (() => void)[] = []
  t.mock.method(globalThis, 'setTimeout', (call: () => void) => {
    timers.push(call)
    return { unref() {} }
  })
  feed(frame(TEXT, 'a'), frame(TEXT, 'b'))
  connection.onEnd()
  assert.deepEqual([link.isEnded, timers.length], [false, 1])
  timers[0]!()
  for (let i = 0; i < 2; i++) {
    goOn()
    await turn()
  }
  assert.deepEqual(seen, ['a', 'b', 1006])
})

test('a client that ends its side after its close frame gets ours, also if a handler takes its time', async () => {
  let goOn = (): void => {}
  const ended: unknown[] = []
  const { connection, link, feed, written } = connected({
    message: () => new Promise<void>((resolve) => (goOn = resolve)),
    close: (_, code, reason) => void ended.push(code, reason),
  })
  feed(frame(TEXT, 'a'), frame(CLOSE, '\x0f\xa0bye'))
  connection.onEnd()
  assert.deepEqual([connection.isOpen, link.isEnded, written], [false, false, []])
  goOn()
  await turn()
  assert.deepEqual([link.isEnded, written], [true, ['\x88\x05\x0f\xa0bye']])
  connection.onClose()
  assert.deepEqual(ended, [4000, 'bye'])
})

/** As a client compresses a message that refers to no other. */
const deflated = (bytes: Buffer): Buffer => deflateRawSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4)
const KIB = Buffer.alloc(1024)
/** Compressed messages of few bytes that make much work, and how many of them may be inflated in one turn. */
const WORK: Readonly<Record<string, readonly [payload: Buffer, most: number]>> = {
  'one letter each': [deflated(Buffer.from('a')), 64],
  '32 KiB of zeros': [deflated(Buffer.alloc(32 * 1024)), 22],
  '32 KiB that have to be inflated twice, to see whether they were cut': [
    deflated(Buffer.concat([Buffer.alloc(32 * 1024 - 4), Buffer.from([0, 0, 0xff, 0xff])])),
    11,
  ],
  'eight streams in each': [Buffer.concat([...Array.from({ length: 8 }, () => deflateRawSync(KIB)), Buffer.alloc(1)]), 7],
}
for (const [what, [payload, most]] of Object.entries(WORK))
  test(`a read full of compressed messages does not hold the event loop for longer than one of plain ones: ${what}`, async () => {
    const sizes: number[] = []
    const options = { compresses: true, maxMessageSize: 40_000 }
    const { feed, link, wire } = connected({ message: (_, data) => void sizes.push((data as Buffer).length) }, options)
    const count = 200
    feed(...Array.from({ length: count }, () => frame(0xc2, payload.toString('latin1'))))
    const handled = [sizes.length]
    assert.equal(link.isPaused, false, 'the test has paused nothing itself')
    while (wire.waitingBytes > 0) {
      await turn()
      handled.push(sizes.length)
    }
    for (const [i, sum] of handled.entries()) assert.ok(sum - (handled[i - 1] ?? 0) <= most, handled.join())
    assert.equal(sizes.length, count)
    assert.equal(new Set(sizes).size, 1)
  })

test('large messages of many WebSockets whose last bytes come at the same time take turns of the event loop', async () => {
  const handled: string[] = []
  const text = 'x'.repeat(100_000)
  const message = (_: unknown, data: unknown): void => void handled.push(String(data))
  const many = Array.from({ length: 100 }, () => connected({ message }, { maxMessageSize: 100_000 }))
  await turn()
  const head = Buffer.from([TEXT, 0xff, 0, 0, 0, 0, 0, 1, 0x86, 0xa0, 0, 0, 0, 0])
  for (const { feed } of many) feed(head, Buffer.from(text.slice(1)))
  assert.equal(handled.length, 0)
  for (const { feed } of many) feed(Buffer.from('x'))
  const counts = [handled.length]
  for (let i = 0; i < 50 && handled.length < 100; i++) {
    await turn()
    counts.push(handled.length)
  }
  assert.equal(handled.filter((one) => one === text).length, 100)
  for (const [i, count] of counts.entries()) assert.ok(count - (counts[i - 1] ?? 0) <= 11, counts.join())
})

// Each counts a quarter of a KiB, and its length, towards 1 MiB. The last one of a turn may exceed it.
for (const [what, length, each, most] of [
  ['small', 1, 500, 4_300],
  ['of 125 bytes', 125, 500, 2_950],
] as const)
  test(`messages of many WebSockets, ${what}, take turns of the event loop`, async () => {
    let handled = 0
    const message = (): void => void handled++
    const many = Array.from({ length: 100 }, () => connected({ message }))
    await turn()
    const bytes = Buffer.concat(Array<Buffer>(each).fill(frame(TEXT, 'x'.repeat(length))))
    for (const { feed } of many) feed(bytes)
    const counts = [handled]
    for (let i = 0; i < 200 && handled < 100 * each; i++) {
      await turn()
      counts.push(handled)
    }
    assert.equal(handled, 100 * each)
    for (const [i, count] of counts.entries()) assert.ok(count - (counts[i - 1] ?? 0) <= most, counts.join())
  })

for (const isAsync of [false, true])
  test(`messages whose handlers take a millisecond take turns, also of several WebSockets, handlers ${isAsync ? '' : 'not '}async`, async () => {
    let handled = 0
    const message = (): void => {
      handled++
      for (const end = performance.now() + 1; performance.now() < end; );
    }
    const many = Array.from({ length: 4 }, () => connected({ message: isAsync ? async () => message() : message }))
    await turn()
    for (const { feed } of many) feed(...Array.from({ length: 50 }, () => frame(TEXT, 'x')))
    const counts = [handled]
    while (handled < 200) {
      await turn()
      counts.push(handled)
    }
    for (const [i, count] of counts.entries()) assert.ok(count - (counts[i - 1] ?? 0) <= 100, counts.join())
  })

test('messages that are sent on to many take turns of the event loop, too, and none is lost', async () => {
  const members = new Set(Array.from({ length: 100 }, () => ({ sendShared: () => true })))
  const host = { connections: members } as unknown as ConnectionHost<null>
  let handled = 0
  const message = (): void => {
    handled++
    deliver(host, null, Buffer.from('x'), false, null)
  }
  const { feed } = connected({ message })
  await turn()
  feed(...Array.from({ length: 500 }, () => frame(TEXT, 'x')))
  assert.ok(handled > 0 && handled < 100, `${handled} of 500 at once`)
  for (let i = 0; i < 50 && handled < 500; i++) await turn()
  assert.equal(handled, 500)
})

test('while a handler takes its time, nothing more is taken from what has arrived, and the link is not read', async () => {
  const seen: string[] = []
  let go = (): void => {}
  const { feed, link, wire } = connected({
    message(_, data) {
      seen.push(String(data))
      return new Promise<void>((resolve) => (go = resolve))
    },
  })
  feed(...[...'abc'].map((letter) => frame(TEXT, letter)))
  assert.deepEqual([seen.join(''), wire.heldBytes], ['a', 14])
  feed(frame(TEXT, 'd'))
  assert.deepEqual([seen.join(''), link.isPaused], ['a', true])
  for (const sum of ['ab', 'abc', 'abcd', 'abcd']) {
    go()
    await turn()
    assert.equal(seen.join(''), sum)
  }
  assert.equal(link.isPaused, false)
})

test('everything that one read causes is written at once, in order', () => {
  const { feed, written } = connected({
    message(socket, data) {
      socket.send(`${String(data)}1`)
      socket.send(Buffer.from(`${String(data)}2`))
    },
  })
  feed(frame(TEXT, 'a'), frame(PING, 'p'), frame(TEXT, 'b'))
  assert.deepEqual(written, ['\x81\x02a1\x82\x02a2\x8a\x01p\x81\x02b1\x82\x02b2'])
})

test('what waits for the client is written once there is room, small frames together, and waiters learn of it', async () => {
  const { connection, link, written } = connected({})
  link.isBlocked = true
  for (const text of ['a', 'b', 'c']) connection.send(text)
  let isOut = false
  const drained = connection.drained().then(() => (isOut = true))
  await turn()
  assert.deepEqual([written, isOut, connection.bufferedBytes], [[], false, 9])
  link.isBlocked = false
  connection.onRoom()
  await drained
  assert.deepEqual([written, connection.bufferedBytes], [['\x81\x01a\x81\x01b\x81\x01c'], 0])
})

test('a client that does not read is closed with 1013, behind what was sent before', () => {
  const { connection, link, written } = connected({}, { maxQueuedSize: 2000 })
  link.isBlocked = true
  let count = 0
  while (connection.send('x')) count++
  assert.ok(count >= 3 && count < 2000 / 512 + 1, `${count} messages`)
  assert.equal(connection.isOpen, false)
  link.isBlocked = false
  connection.onRoom()
  assert.equal(written.join(''), `${'\x81\x01x'.repeat(count)}\x88\x1e\x03\xf5messages are read too slowly`)
})

test('a close is answered once, and ends our side; a broken rule too', () => {
  const codes: number[] = []
  const close = (_: unknown, code: number): void => void codes.push(code)
  const closed = connected({ close })
  closed.feed(frame(CLOSE, '\x0f\xa0bye'), frame(CLOSE, '\x03\xe8'), frame(TEXT, 'late'))
  assert.deepEqual([closed.written, closed.link.isEnded], [['\x88\x05\x0f\xa0bye'], true])
  closed.connection.onClose()
  const broken = connected({ close })
  broken.feed(frame(0x83, 'x'), frame(TEXT, 'late'))
  assert.deepEqual([broken.written, broken.link.isEnded], [['\x88\x02\x03\xea'], true])
  broken.connection.onClose()
  const both = connected({ close })
  both.connection.close(1000)
  both.feed(frame(TEXT, 'sent before'), frame(CLOSE, '\x03\xe8'))
  assert.deepEqual([both.written, both.link.isEnded], [['\x88\x02\x03\xe8'], true])
  both.connection.onClose()
  assert.deepEqual(codes, [4000, 1006, 1000])
})

test('what a handler has sent before it aborts the connection goes out, and what a logger throws leaves no connection behind', () => {
  const aborted = connected({
    message(socket) {
      socket.send('bye')
      socket.terminate()
      assert.equal(socket.send('late'), false)
    },
  })
  aborted.feed(frame(TEXT, 'x'), frame(TEXT, 'y'))
  assert.deepEqual(aborted.written, ['\x81\x03bye'])
  const broken = connected({ message: () => assert.fail('broken') })
  broken.failures.push = () => assert.fail('the logger is broken')
  assert.throws(() => broken.feed(frame(TEXT, 'x')), /the logger is broken/)
  const other = connected({ message: (socket, data) => void socket.send(data) })
  other.feed(frame(TEXT, 'a'), frame(TEXT, 'b'))
  assert.deepEqual(other.written, ['\x81\x01a\x81\x01b'])
})

test('a connection is closed only with codes that may be sent', () => {
  const { connection } = connected({})
  for (const code of [0, 999, 1004, 1005, 1006, 1015, 5000]) assert.throws(() => connection.close(code), TypeError)
  assert.throws(() => connection.close(1000, 'x'.repeat(124)), RangeError)
  assert.equal(connection.isOpen, true)
})

for (const isBlockedThen of [false, true])
  test(`what is gathered goes out whole if the link keeps the memory of a part of it, ${isBlockedThen ? 'and is full then' : 'and takes more'}`, async () => {
    const { connection, link, wire, written, feed } = connected({ message: (socket, data) => void socket.send(data) })
    // 900 responses to one read are more than the memory in which they are gathered.
    link.writeShared = (bytes) => {
      written.push(Buffer.from(bytes).toString('latin1'))
      link.isBlocked = isBlockedThen
      return false
    }
    const answers = Array.from({ length: 900 }, (_, i) => String(i).padStart(100, '.'))
    feed(...answers.map((text, i) => frame(i % 2 === 0 ? PING : TEXT, text)))
    while (wire.waitingBytes > 0) await turn() // a busy machine needs several
    link.isBlocked = false
    connection.onRoom()
    const heads = (i: number): string => String.fromCharCode(i % 2 === 0 ? 0x8a : TEXT, 100)
    assert.ok(written.join('') === answers.map((text, i) => heads(i) + text).join(''), 'each response is there, in order')
  })

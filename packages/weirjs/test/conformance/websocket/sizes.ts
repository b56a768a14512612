// Section 9: large messages, whole, in fragments and in small writes, and many small ones.

import { BINARY, fine, fragments, frame, lineOf, type SocketCase, TEXT } from './step.ts'

const KB = 1024
const MB = 1024 * 1024
/** Of a message, in bytes. The largest, 16 MiB, is the largest that the suite has. */
const SIZES: readonly number[] = [64 * KB, 256 * KB, MB, 4 * MB, 8 * MB, 16 * MB]
/** Of a fragment of 4 MiB. The first makes 65,536 of them. */
const FRAGMENTS: readonly number[] = [64, 256, KB, 4 * KB, 16 * KB, 64 * KB, 256 * KB, MB, 4 * MB]
/** Of a write of 1 MiB. */
const WRITES: readonly number[] = [64, 128, 256, 512, 1024, 2048]
const SMALL: readonly number[] = [0, 16, 64, 256, 1024, 4096]
const MANY = 1000

/** Of a case that is too large to make before it is sent. */
export interface LargeCase {
  readonly id: string
  readonly title: string
  make(): SocketCase
}

/** Bytes of which none is like those of the next KiB; ASCII, so that they are text as well. */
const FILLED = Buffer.alloc(SIZES.at(-1)!)
for (let i = 0; i < FILLED.length; i++) FILLED[i] = 0x20 + ((i + (i >> 10) * 7) % 90)
const filled = (size: number): Buffer => FILLED.subarray(0, size)

/** @param heardOf the payload of the messages that come back, and how many they are */
function group(
  number: number,
  opcode: number,
  what: string,
  sizes: readonly number[],
  framesOf: (size: number) => Buffer[],
  heardOf: (size: number) => readonly [payload: Buffer, count: number],
): LargeCase[] {
  return sizes.map((size, i) => {
    const id = `9.${number}.${i + 1}`
    const title = `${opcode === TEXT ? 'text' : 'bytes'}, ${what} ${size}`
    const make = (): SocketCase => {
      const [payload, count] = heardOf(size)
      return fine(id, title, framesOf(size), new Array<string>(count).fill(lineOf(opcode, payload)), true)
    }
    return { id, title, make }
  })
}

function chopped(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}

const whole = (size: number) => [filled(size), 1] as const

export const SIZE_CASES: readonly LargeCase[] = [TEXT, BINARY].flatMap((opcode, i) => [
  ...group(1 + i, opcode, 'a message of', SIZES, (size) => [frame(opcode, filled(size))], whole),
  ...group(
    3 + i,
    opcode,
    '4 MiB in fragments of',
    FRAGMENTS,
    (size) => fragments(opcode, filled(4 * MB), size),
    () => whole(4 * MB),
  ),
  ...group(
    5 + i,
    opcode,
    '1 MiB in writes of',
    WRITES,
    (size) => chopped(frame(opcode, filled(MB)), size),
    () => whole(MB),
  ),
  ...group(
    7 + i,
    opcode,
    `${MANY} messages of`,
    SMALL,
    (size) => new Array<Buffer>(MANY).fill(frame(opcode, filled(size))),
    (size) => [filled(size), MANY],
  ),
])

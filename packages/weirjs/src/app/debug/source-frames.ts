// The frames of an error's stack, with the lines of source around them, for the page that shows errors while a program is developed.
//
// The text of a message is part of the text of a stack, and clients often choose parts of messages. So the text before the frames is removed by its
// length, and a file is read only if it is a source file. Code of packages is never read.

import { readFile, stat } from 'node:fs/promises'
import { extname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isInstance } from '../../base/errors.ts'

/** One call on the stack. */
export interface Frame {
  /** The function; empty if it has no name. */
  readonly name: string
  /** The file, relative to the working directory if it is below that, or what Node calls its own modules. */
  readonly file: string
  /** Whether it belongs to the program: neither to Node, nor to a package, nor to weir. */
  readonly isProgram: boolean
  readonly line: number
  readonly column: number
  /** Null if it is not shown. */
  readonly source: SourceLines | null
}

export interface SourceLines {
  /** Number of the first line. */
  readonly first: number
  readonly lines: readonly string[]
}

const MAX_STACK_CHARACTERS = 32 * 1024
const MAX_FRAME_CHARACTERS = 1_000
const MAX_FRAMES = 20
const MAX_SOURCES = 4
const MAX_FILE_BYTES = 512 * 1024
const MAX_LINE_CHARACTERS = 240
/** Lines before the line of the frame, and after it. */
const CONTEXT_LINES = 4

/** The class of an error, and its code if it is one of Node's. */
const NAME = /^[\w$.]*(?: \[\w+\])?/
const FRAME = /^ {4}at (?:async )?(?:(.+) \()?(file:\/\/[^()]+|node:[^()]+|\/[^()]+|[a-z]:[\\/][^()]+):(\d{1,7}):(\d{1,7})\)?$/i
const SOURCE_FILE = /^\.[cm]?[jt]sx?$/
const PACKAGES = /[\\/]node_modules[\\/]/
/** The folder of weir's own code, which may be outside node_modules: in the sources, and in the bundle. */
const OWN = ownFolder()

/** Never rejects: a file that cannot be read is not shown. */
export async function framesOf(error: unknown): Promise<Frame[]> {
  const frames: Frame[] = []
  let sources = 0
  for (const line of frameLines(error)) {
    const [, name = '', place, lineText, columnText] = FRAME.exec(line) ?? []
    if (place === undefined) continue
    const path = pathOf(place)
    const number = Number(lineText)
    const isProgram = path !== null && !PACKAGES.test(path) && !(OWN !== null && path.startsWith(OWN))
    const isShown = isProgram && sources < MAX_SOURCES && SOURCE_FILE.test(extname(path))
    const source = isShown ? await readLines(path, number) : null
    if (source !== null) sources++
    frames.push({ name, file: path === null ? place : shortPath(path), isProgram, line: number, column: Number(columnText), source })
    if (frames.length === MAX_FRAMES) break
  }
  return frames
}

function shortPath(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith('..') ? path : short
}

/** Read from a stack, because with source maps its paths differ from `import.meta.url`. Null if it is not known. */
function ownFolder(): string | null {
  const [, , place = ''] = FRAME.exec(frameLines(new Error())[0] ?? '') ?? []
  return /^(.+[\\/])(?:app[\\/]debug|parts)[\\/][^\\/]*$/.exec(pathOf(place) ?? '')?.[1] ?? null
}

/** The lines after the name and the message of the error; none if it is not certain where they begin. */
function frameLines(error: unknown): string[] {
  try {
    if (!isInstance(error, Error) || typeof error.stack !== 'string') return []
    const { stack, message } = error
    const name = NAME.exec(stack)![0]
    const head = message === '' ? name : `${name}: ${message}`
    if (!stack.startsWith(`${head}\n`)) return [] // the message was changed
    const lines = stack.slice(head.length + 1, head.length + MAX_STACK_CHARACTERS).split('\n')
    return lines.filter((line) => line.length <= MAX_FRAME_CHARACTERS)
  } catch {
    return [] // its members throw
  }
}

/** Null for a module of Node itself, and for what is not a path. */
function pathOf(place: string): string | null {
  if (place.startsWith('node:')) return null
  try {
    return place.startsWith('file:') ? fileURLToPath(place) : place
  } catch {
    return null
  }
}

async function readLines(path: string, line: number): Promise<SourceLines | null> {
  try {
    const stats = await stat(path)
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) return null
    const lines = (await readFile(path, 'utf8')).split('\n')
    if (line < 1 || line > lines.length) return null
    const first = Math.max(1, line - CONTEXT_LINES)
    return { first, lines: lines.slice(first - 1, line + CONTEXT_LINES).map((one) => one.slice(0, MAX_LINE_CHARACTERS)) }
  } catch {
    return null
  }
}

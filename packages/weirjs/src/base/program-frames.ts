// Finds the program's line on the stack of an error that is the program's own mistake. The functions of weir that it called are on top of that
// line, and do not help to fix it.

/** A function, or a class whose constructor is meant. */
export type Callee = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)

/** The stack of a call. V8 formats it when it is read. */
export interface CallSite {
  readonly stack?: string
}

const PLACE = /^(?:file:\/\/|node\W|\/|[a-z]:[\\/])[^()]+:\d{1,7}:\d{1,7}$/i
/** A file of Node itself. */
const BUILT_IN = /^node\W/
const MOST_FRAMES = 50
const PACKAGE = /[\\/]node_modules[\\/]@weirjs[\\/]/

/** The folder of weir's own code; null if it is not known, for example in a program that was bundled into one file. */
let ownFolder: string | null | undefined

/** Read from a stack, because with source maps its paths differ from `import.meta.url`. */
function isOwn(frame: string): boolean {
  if (ownFolder === undefined) {
    const here = placeOf(new Error().stack?.split('\n', 2)[1] ?? '') ?? ''
    ownFolder = /^(.+[\\/])(?:base|parts)[\\/][^\\/]*$/.exec(here)?.[1] ?? null
  }
  const place = placeOf(frame)
  return place !== null && ((ownFolder !== null && place.startsWith(ownFolder)) || PACKAGE.test(place))
}

/** File, line and column of a frame: `    at name (place)`, or `    at place`. */
function placeOf(frame: string): string | null {
  const end = frame.endsWith(')') ? frame.length - 1 : frame.length
  const open = frame.lastIndexOf('(', end)
  const place = open === -1 ? frame.replace(/^ {0,8}at (?:async )?/, '') : frame.slice(open + 1, end)
  return PLACE.test(place) ? place : null
}

/** The lines after the name and the message; none if it is not certain where they begin. */
function framesOf({ stack, message }: Error): readonly string[] {
  if (typeof stack !== 'string') return []
  const start = stack.indexOf(': ') + 2 + message.length
  return start > message.length && stack.startsWith(message, start - message.length) && stack[start] === '\n'
    ? stack.slice(start + 1).split('\n')
    : []
}

/** The first frame that is not weir's own. A built-in such as Array.map has no place. */
function firstOfProgram(frames: readonly string[]): number {
  return frames.findIndex((frame) => placeOf(frame) !== null && !isOwn(frame))
}

/** The frames of a longer stack: checks of nested options may fill all ten frames of Node with weir's own. */
function moreFrames(error: Error, frames: readonly string[]): readonly string[] {
  const { stackTraceLimit } = Error
  if (frames.length < stackTraceLimit || !Reflect.set(Error, 'stackTraceLimit', MOST_FRAMES)) return frames
  Error.captureStackTrace(error, beginInProgram)
  Error.stackTraceLimit = stackTraceLimit
  return framesOf(error)
}

/** Removes weir's frames from the top of the stack, unless no frame of the program is left: an engine may have no caller of the program's. */
export function beginInProgram(error: Error): void {
  let frames = framesOf(error)
  if (frames.length > 0 && firstOfProgram(frames) === -1) frames = moreFrames(error, frames)
  const first = firstOfProgram(frames)
  if (first <= 0 || BUILT_IN.test(placeOf(frames[first]!)!)) return
  error.stack = [error.stack!.slice(0, -frames.join('\n').length - 1), ...frames.slice(first)].join('\n')
}

/** Errors that point at a line of the program. */
const located = new WeakSet<Error>()

/**
 * Makes an error point at the line that called `callee`, which Node prints first when the error ends a process. If there are several calls, the
 * innermost one that the program itself made counts.
 */
export function locate(error: Error, callee: Callee): void {
  if (located.has(error)) return
  // Reads the stack of another error, because V8 forgets where an error points once its own stack has been read.
  const frame = callSite(callee).stack?.split('\n')[1]
  if (frame === undefined || isOwn(frame)) return // `callee` was replaced, and is not what was called; or a module of weir called it
  Error.captureStackTrace(error, callee)
  located.add(error)
}

/** The call of `callee`. */
export function callSite(callee: Callee): CallSite {
  const site: { stack?: string } = {}
  Error.captureStackTrace(site, callee)
  return site
}

/** File, line and column of the program's frame; null if there is none. */
export function programPlace({ stack = '' }: CallSite): string | null {
  const frame = stack.split('\n').find((line) => line.startsWith('    at ') && !isOwn(line))
  return frame === undefined ? null : placeOf(frame)
}

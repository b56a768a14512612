// How many files all requests of the thread may have open.
//
// Clients decide how long a file is needed: those that do not read a response, or send a file slowly, would together take all descriptors of the
// process. So the number is bounded. When the bound is reached, files that are not being read or written at that moment give their descriptors to
// the files that wait, in order, and are opened again later. None of this waits for a client: reading and writing end by themselves.

/** Descriptors of this thread for files that are sent or saved. */
export const MOST_OPEN: number = 128

/** A file that is not being read or written. */
export interface Unused {
  /** Closes the file, and calls `release`. */
  giveBack(): void
}

let taken = 0
/** Unused files, the one that was last used the longest time ago first. */
const unused = new Set<Unused>()
const waiting: (() => void)[] = []
/** Files that are about to release a descriptor, because another file waits. */
let leaving = 0

/** @returns null, or a promise that resolves when a file may be opened. `release` must follow in both cases */
export function take(): Promise<void> | null {
  if (taken < MOST_OPEN) {
    taken++
    return null
  }
  return new Promise((resolve) => {
    waiting.push(resolve)
    const [oldest] = unused
    if (oldest !== undefined && leaving < waiting.length) send(oldest)
  })
}

/** A file was closed, or could not be opened. */
export function release(): void {
  const next = waiting.shift()
  if (next === undefined) taken--
  else next()
}

/** `file` is not used any more, and may have to give its descriptor back. */
export function offer(file: Unused): void {
  if (leaving < waiting.length) send(file)
  else unused.add(file)
}

/** `file` needs its descriptor. */
export function keep(file: Unused): void {
  unused.delete(file)
}

function send(file: Unused): void {
  unused.delete(file)
  leaving++
  file.giveBack()
}

/** A file that was asked to give its descriptor back has closed it. */
export function returned(): void {
  leaving--
  release()
}

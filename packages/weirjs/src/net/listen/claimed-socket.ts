// Checks that a socket which the parent process has opened can be used.

import { readFileSync, readlinkSync } from 'node:fs'

import { WeirError } from '../../base/errors.ts'

/** What is known of an inherited socket before the server uses it. */
export interface InheritedKind {
  readonly isUnixSocket: boolean
  /** The path of a Unix socket; empty if it has none, and for TCP. */
  readonly path: string
}

/** Descriptors that this process has used. By now, their numbers may belong to something else. */
const used = new Set<number>()

/**
 * Checks, on Linux, that a descriptor is a listening socket. Node would call `listen` on any socket, and one that is not bound would then
 * listen on some free port of all addresses.
 * @throws WEIR_OPTION_INVALID if it is not, if it was used before, and in a worker of `node:cluster`
 */
export async function claimInherited(fd: number): Promise<InheritedKind> {
  if ((await import('node:cluster')).default.isWorker)
    throw invalid(`fd ${fd} would be a descriptor of the primary process: workers of node:cluster cannot inherit sockets, so set "port"`)
  if (used.has(fd)) throw invalid(`fd ${fd} was used before, and is closed: a process can use an inherited socket once`)
  const kind = process.platform === 'linux' ? lookUp(fd) : { isUnixSocket: false, path: '' }
  used.add(fd)
  return kind
}

function lookUp(fd: number): InheritedKind {
  let target: string
  try {
    target = readlinkSync(`/proc/self/fd/${fd}`)
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    throw invalid(
      isMissing
        ? `fd ${fd} is not open: the parent process must pass a listening socket with this number`
        : `fd ${fd} cannot be examined: ${(error as Error).message}`,
    )
  }
  const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
  if (inode === undefined) throw invalid(`fd ${fd} is not a socket, but ${target}: pass the number of a socket that listens`)
  if (isTcpListener('tcp', inode) || isTcpListener('tcp6', inode)) return { isUnixSocket: false, path: '' }
  const path = unixListener(inode)
  if (path === null) throw invalid(`fd ${fd} is a socket that does not listen: the parent process must call listen() first`)
  return { isUnixSocket: true, path }
}

const LISTENING = '0A'

function isTcpListener(table: 'tcp' | 'tcp6', inode: string): boolean {
  // sl, local and remote address, state, queues, timer, retransmits, uid, timeout, inode
  return linesOf(table).some((line) => {
    const columns = line.trim().split(/\s+/)
    return columns[3] === LISTENING && columns[9] === inode
  })
}

/** The kernel's flag `__SO_ACCEPTCON`: the socket is listening. */
const ACCEPTS = 1 << 16

/** @returns its path; null if no such socket is listening */
function unixListener(inode: string): string | null {
  // address, references, protocol, flags, type, state, inode, and perhaps a path
  for (const line of linesOf('unix')) {
    const [, flags, id, path = ''] = /^\S+: \S+ \S+ (\S+) \S+ \S+ +(\d+)(?: (.*))?$/.exec(line) ?? []
    if (id === inode) return (Number.parseInt(flags!, 16) & ACCEPTS) === 0 ? null : path
  }
  return null
}

/** Empty if the system does not have this table. */
function linesOf(table: string): string[] {
  try {
    return readFileSync(`/proc/self/net/${table}`, 'utf8').split('\n').slice(1)
  } catch {
    return []
  }
}

function invalid(detail: string): WeirError {
  return new WeirError('WEIR_OPTION_INVALID', detail)
}

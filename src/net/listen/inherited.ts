// Sockets that the parent process has opened and passed on: which they are, and whether they may be listened on.

import { readFileSync, readlinkSync } from 'node:fs'

import { WeirError } from '../../base/errors.ts'

export interface InheritedSocket {
  readonly fd: number
  /** Absent where the parent gave none. */
  readonly name?: string
}

/** What is known of a socket before it is listened on. */
export interface InheritedKind {
  readonly isUnixSocket: boolean
  /** Path of a Unix socket; empty where it has none, and for TCP. */
  readonly path: string
}

/** The first descriptor that is passed on (sd_listen_fds(3)). */
const FIRST = 3
const VARIABLES = ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES', 'LISTEN_PIDFDID'] as const

/** Descriptors that were listened on. Their numbers may by now stand for something else. */
const used = new Set<number>()

/**
 * The sockets that systemd, or whoever follows its protocol, passes by `LISTEN_FDS`, `LISTEN_PID` and `LISTEN_FDNAMES`. The variables are
 * removed, so that no child process takes them for its own.
 * @throws WEIR_OPTION_INVALID when there are none for this process
 */
export function takeInherited(environment: NodeJS.ProcessEnv = process.env, pid: number = process.pid): readonly InheritedSocket[] {
  const { LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES } = environment
  if (LISTEN_FDS === undefined || LISTEN_PID === undefined)
    throw invalid('no socket was passed to this process, or it was taken before: LISTEN_FDS and LISTEN_PID are not set')
  if (Number(LISTEN_PID) !== pid)
    throw invalid(
      `the sockets were passed to process ${LISTEN_PID}, and this is ${pid}: start node itself, not a shell or npm that starts it`,
    )
  const count = /^\d{1,4}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : 0
  if (count === 0) throw invalid(`LISTEN_FDS is ${JSON.stringify(LISTEN_FDS)}, not a number of sockets`)
  const names = LISTEN_FDNAMES?.split(':') ?? []
  if (LISTEN_FDNAMES !== undefined && names.length !== count)
    throw invalid(`LISTEN_FDNAMES has ${names.length} names for ${count} sockets: ${LISTEN_FDNAMES}`)
  for (const name of VARIABLES) delete environment[name]
  return Array.from({ length: count }, (_, i) => (names[i] ? { fd: FIRST + i, name: names[i] } : { fd: FIRST + i }))
}

/**
 * Looks at a socket that is about to be listened on. Linux tells whether it listens already; elsewhere what the system says has to do. To
 * listen on one that does not would open a port that nobody chose, on all addresses.
 * @throws WEIR_OPTION_INVALID for what is no listening socket, for one that was used before, and in a worker of `node:cluster`
 */
export async function claimInherited(fd: number): Promise<InheritedKind> {
  if ((await import('node:cluster')).default.isWorker)
    throw invalid(`fd ${fd} would be one of the primary process: a worker of node:cluster cannot listen on its own`)
  if (used.has(fd)) throw invalid(`fd ${fd} was listened on before, and is closed: a socket can be inherited once in a process`)
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
    throw invalid(isMissing ? `fd ${fd} is not open` : `fd ${fd} cannot be looked at: ${(error as Error).message}`)
  }
  const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
  if (inode === undefined) throw invalid(`fd ${fd} is not a socket, but ${target}`)
  if (isTcpListener('tcp', inode) || isTcpListener('tcp6', inode)) return { isUnixSocket: false, path: '' }
  const path = unixListener(inode)
  if (path === null) throw invalid(`fd ${fd} is a socket that does not listen`)
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

/** `__SO_ACCEPTCON` of the kernel. */
const ACCEPTS = 1 << 16

/** @returns its path, null where none such listens */
function unixListener(inode: string): string | null {
  // address, references, protocol, flags, type, state, inode, and perhaps a path
  for (const line of linesOf('unix')) {
    const [, flags, id, path = ''] = /^\S+: \S+ \S+ (\S+) \S+ \S+ +(\d+)(?: (.*))?$/.exec(line) ?? []
    if (id === inode) return (Number.parseInt(flags!, 16) & ACCEPTS) === 0 ? null : path
  }
  return null
}

/** Empty where the system has no such table. */
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

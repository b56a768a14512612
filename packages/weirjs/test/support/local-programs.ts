// Programs that serve their user, and what clients send them.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

import type { LocalEnvironment } from '../../src/modules/local/local-place.ts'
import { temporaryDirectory } from './temporary.ts'

/** The environment of a user whose folder is empty. */
export function emptyEnvironment(t: TestContext): LocalEnvironment {
  const home = temporaryDirectory(t)
  return { platform: process.platform, env: { XDG_RUNTIME_DIR: home }, home, uid: process.getuid?.() ?? null }
}

interface Told {
  readonly pid: number
  readonly url: string
  readonly isReused: boolean
  readonly link: string
  readonly code?: string
  readonly message?: string
}

export interface LocalProgram {
  readonly told: Told
  kill(signal?: NodeJS.Signals): Promise<void>
}

/** Starts a program, and waits for what it tells. */
export async function startProgram(
  t: TestContext,
  environment: LocalEnvironment,
  name: string,
  single = 'reuse',
  port?: number,
): Promise<LocalProgram> {
  const file = new URL('./local-program.js', import.meta.url).pathname
  const args = [file, name, single, ...(port === undefined ? [] : [String(port)])]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...environment.env }, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'close')
  const kill = async (signal: NodeJS.Signals = 'SIGKILL'): Promise<void> => {
    child.kill(signal)
    await gone
  }
  t.after(() => kill())
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string]
  return { told: JSON.parse(line) as Told, kill }
}

/** The secret that a link carries. */
export function ticketOf(link: string): string {
  return new URLSearchParams(new URL(link).hash.slice(1)).get('token')!
}

/** What the page behind a link sends. @returns the cookie, or null */
export async function enter(url: string, ticket: string, headers: Record<string, string> = {}): Promise<string | null> {
  const answer = await fetch(`${url}/_weir/local/enter`, { method: 'POST', headers: { Authorization: `Bearer ${ticket}`, ...headers } })
  const [cookie] = answer.headers.getSetCookie()
  return answer.status === 204 ? cookie!.split(';')[0]! : null
}

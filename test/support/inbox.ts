// The application in examples/inbox, for one test: its own accounts and folder, a started server, and clients that have signed in.

import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import type { TestContext } from 'node:test'

import type { HttpServer, InjectResponse, ServerOptions } from 'weir'

import { inboxServer } from '../../examples/inbox/app.ts'
import { COOKIE } from '../../examples/inbox/policies.ts'
import { type Account, Store } from '../../examples/inbox/store.ts'
import { temporaryFolder } from './demo.ts'

export const PASSWORD = 'correct horse'

export interface InboxRun {
  readonly server: HttpServer
  readonly store: Store
  /** Of attachments. */
  readonly folder: string
  /** What was logged, oldest first. */
  readonly lines: LogLine[]
  /** The fields of a request by this user: a cookie. */
  signIn(name: string): { Cookie: string }
  /** The names of the files in `folder`. */
  files(): Promise<string[]>
}

export interface LogLine {
  readonly kind?: string
  readonly method?: string
  readonly url?: string
  readonly status?: number
  readonly clientAddress?: string
  readonly outcome?: string
  readonly code?: string | null
  readonly administrator?: string
}

/** Hashing passwords is slow by design, so it is done once. */
const hashed = Promise.all(
  (['ada', 'bob', 'root'] as const).map((name) => new Store().add(name, PASSWORD, name === 'root' ? 'admin' : 'user')),
)

/** The inbox with the users ada and bob and the administrator root, not started. */
export async function createInbox(t: Pick<TestContext, 'after'>, options: ServerOptions = {}): Promise<InboxRun> {
  let server: HttpServer | null = null
  t.after(() => server?.stop({ graceMs: 0 })) // before the folder is removed
  const folder = await temporaryFolder(t)
  const store = new Store()
  for (const account of await hashed) store.accounts.set(account.name, { ...account, inbox: [] } satisfies Account)
  const lines: LogLine[] = []
  const errors: unknown[] = []
  t.after(() => assert.deepEqual(errors, [], 'what the server has logged'))
  const logger = { error: (...told: unknown[]) => void errors.push(told) }
  server = inboxServer({ store, folder, log: (line) => lines.push(line), logger, ...options })
  const signIn = (name: string) => ({ Cookie: `${COOKIE}=${store.signIn(store.find(name))}` })
  return { server, store, folder, lines, signIn, files: () => readdir(folder) }
}

/** The same, started on a free port. */
export async function startInbox(t: Pick<TestContext, 'after'>, options: ServerOptions = {}): Promise<InboxRun> {
  const run = await createInbox(t, options)
  await run.server.start()
  return run
}

/** The code of a problem document. */
export function codeOf(response: InjectResponse): string {
  return (response.json() as { code: string }).code
}

// The application in examples/inbox, for one test: its own accounts and folder, a started server, and clients that have signed in.

import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import type { TestContext } from 'node:test'

import { HttpServer, type InjectResponse, type ServerOptions } from 'weirjs'
import { memoryStore } from 'weirjs/limits'
import { memorySessions } from 'weirjs/sessions'

import { accessTo, type Stores } from '../../examples/inbox/access.ts'
import { inboxServer } from '../../examples/inbox/app.ts'
import { type Account, Store } from '../../examples/inbox/store.ts'
import { temporaryFolder } from '../../packages/weirjs/test/support/demo.ts'

export const PASSWORD = 'correct horse'

export interface InboxRun {
  readonly server: HttpServer
  readonly store: Store
  /** Of attachments. */
  readonly folder: string
  /** What was logged, oldest first. */
  readonly lines: LogLine[]
  /** Signs a user in without a password. @returns the fields of their requests: a cookie */
  signIn(name: string): Promise<{ Cookie: string }>
  /** Requests something from the endpoint that clients cannot reach. */
  internal(path: string): Promise<InjectResponse>
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
  readonly user?: string
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
  const [store, stores] = [new Store(), { sessions: memorySessions(), rateLimit: memoryStore() }]
  for (const account of await hashed) store.accounts.set(account.name, { ...account, inbox: [] } satisfies Account)
  const lines: LogLine[] = []
  const errors: unknown[] = []
  t.after(() => assert.deepEqual(errors, [], 'what the server has logged'))
  server = inboxServer({
    store,
    folder,
    stores,
    log: {
      write: (text) =>
        void lines.push(
          ...text
            .trim()
            .split('\n')
            .map((line) => JSON.parse(line) as LogLine),
        ),
    },
    logger: { error: (...told: unknown[]) => void errors.push(told) },
    listen: [{ port: 0 }, { port: 0, name: 'internal' }],
    ...options,
  })
  const internal = (url: string) => server.inject({ url, endpoint: 'internal' })
  return { server, store, folder, lines, signIn: signInTo(store, stores), internal, files: () => readdir(folder) }
}

/** Checking a password is slow by design, so another server with the same sessions signs users in. */
function signInTo(store: Store, stores: Stores): InboxRun['signIn'] {
  const { users } = accessTo(store, stores)
  const door = new HttpServer().use(users)
  door.mapPost('/:name', ({ name }, session) => {
    users.signIn(session, { id: name, name, roles: [store.find(name).role] })
  })
  return async (name) => {
    const { headers } = await door.inject({ method: 'POST', url: `/${name}` })
    return { Cookie: headers.get('set-cookie')!.split(';')[0]! }
  }
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

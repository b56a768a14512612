import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

import { form, HttpServer, type HttpSession, type ServerOptions, saveTo, t } from 'weirjs'
import { auth, hashPassword, verifyPassword } from 'weirjs/auth'
import { securityHeaders } from 'weirjs/headers'
import { health } from 'weirjs/health'
import { rateLimit } from 'weirjs/limits'
import { sessions } from 'weirjs/sessions'
import { sqliteStores } from 'weirjs/sqlite'
import { staticFiles } from 'weirjs/static'

import { Store } from './store.ts'

const Credentials = form(t.object({ name: t.string.min(1).max(50), password: t.string.min(8).max(200).secret() }))
const MOST_BYTES = '50MiB'

export interface AppOptions extends ServerOptions {
  /** The folder for the database and the files. */
  readonly folder: string
}

/** The server. Tests make one of their own, and need no port. */
export function createServer({ folder, ...options }: AppOptions): HttpServer {
  const uploads = join(folder, 'files')
  mkdirSync(uploads, { recursive: true })
  const database = new DatabaseSync(join(folder, 'app.db'))
  const stores = sqliteStores(database)
  const store = new Store(database)

  const users = sessions({ store: stores.sessions, persistent: true, idleTimeout: '7d', absoluteTimeout: '30d' })
  const guests = auth({ schemes: [users.scheme()], unrouted: 'allowed' })
  /** Guesses of passwords, of all clients behind one address. */
  const guesses = rateLimit({ name: 'guesses', quota: 10, window: '15m', store: stores.rateLimit })
  const ownerOf = (session: HttpSession): number => Number(guests.principal.required(session).id)

  const server = new HttpServer(options)
  server.use(health({ use: [auth.open] }))
  server.use(securityHeaders('page'))
  server.use(users) // and csrf
  server.use(guests)
  server.use(staticFiles({ root: join(import.meta.dirname, '../site') }))

  server.mapPost('/api/sign-up', { use: [auth.open, guesses], body: Credentials }, async ({ body }, session) => {
    const id = store.addUser(body.name, await hashPassword(body.password))
    if (id === null) return session.response.status(409).json({ detail: 'This name is taken.' })
    users.signIn(session, { id: String(id), name: body.name })
    return { name: body.name }
  })

  server.mapPost('/api/sign-in', { use: [auth.open, guesses], body: Credentials }, async ({ body }, session) => {
    const user = store.user(body.name)
    if (!(await verifyPassword(body.password, user?.password ?? null, session.clientAddress)) || user === null)
      return session.response.unauthorized('Name or password is wrong.')
    users.signIn(session, { id: String(user.id), name: user.name })
    return { name: user.name }
  })

  server.mapPost('/api/sign-out', (_, session) => {
    users.signOut(session)
    return session.response.noContent()
  })

  server.mapGet('/api/me', (_, session) => ({ name: guests.principal.required(session).name }))

  server.mapGet('/api/files', (_, session) => store.files(ownerOf(session)).map(({ id, name, size }) => ({ id, name, size })))

  // The files go to the disk as they arrive, so that their size is no matter for the memory.
  server.mapPost('/api/files', { maxRequestBodySize: MOST_BYTES }, async (_, session) => {
    const owner = ownerOf(session)
    let count = 0
    const isForm = await session.request.bodyMultipartStream({
      maxFileSize: MOST_BYTES,
      async onFile(info, content) {
        const saved = await saveTo(uploads, info, content, { fileName: crypto.randomUUID() })
        store.addFile(owner, info.fileName ?? 'file', saved.path, saved.size)
        count++
      },
    })
    return isForm ? { count } : session.response.status(400).json({ detail: 'Send a form with files.' })
  })

  server.mapGet('/api/files/:id', { id: t.int }, ({ id }, session) => {
    const file = store.file(ownerOf(session), id)
    if (file === null) return session.response.notFound('There is no such file.')
    return session.response.file(file.path, { download: file.name, contentType: 'application/octet-stream' })
  })
  return server
}

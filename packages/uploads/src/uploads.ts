// `@weirjs/uploads`: uploads that continue where they were interrupted, with tus 1.0 or the protocol of the IETF
// (draft-ietf-httpbis-resumable-upload).

import cluster from 'node:cluster'
import { type HttpSession, type Module, type ModuleHost, t, type Usable, WeirError } from 'weirjs'
import { CONTENT_RULES, invalid, option, rules, shown, systemClock } from 'weirjs/kit'
import { Draft } from './draft.ts'
import { memoryLocks } from './memory-locks.ts'
import { OpenUploads } from './open-uploads.ts'
import { Tus } from './tus.ts'
import { UploadCore } from './upload-core.ts'
import { sendFields, stateField } from './upload-fields.ts'
import { RESPONSES } from './upload-responses.ts'
import type { UploadsOptions } from './upload-settings.ts'

const { count, duration, forTests, func, having, list, listener, matching, size, text } = option

const OWNER = 'uploads'
const STORAGE = ['create', 'load', 'save', 'append', 'complete', 'read', 'locate', 'moveTo', 'delete', 'list']
/** @internal */
export const UPLOADS_RULES = rules<UploadsOptions>(OWNER)(
  {
    storage: having(STORAGE, 'write diskStorage(directory) or s3Storage(client, { bucket })'),
    onComplete: func(),
    onCreate: func().optional(),
    answers: matching<NonNullable<UploadsOptions['answers']>>('an object with an answer for each status', isRecord).optional(
      'those of the group',
    ),
    maxSize: size().also(Number.POSITIVE_INFINITY).or('1GiB'),
    types: CONTENT_RULES.types,
    expiresAfter: duration({ leastNumber: 1_000 }).or('24h'),
    maxOpenUploads: count({ least: 1 }).also(Number.POSITIVE_INFINITY).or(100),
    maxOpenSize: size().also(Number.POSITIVE_INFINITY).optional('10 times maxSize'),
    maxMetadataSize: size().or(4_096),
    locks: having(['acquire'], 'for a client of Redis, write redisLocks(client)').optional('memoryLocks()'),
    use: list<Usable>().optional(),
    endpoint: text().optional('every endpoint'),
    name: text().optional('uploads and the path'),
    onError: listener().orNull("the server's logger"),
    clock: forTests(),
  },
  { elsewhere: { dir: 'storage', directory: 'storage', maxFileSize: 'maxSize' } },
)
const SHORTEST_SWEEP_MS = 1_000
const LONGEST_SWEEP_MS = 10 * 60_000

/**
 * Returns a module that takes resumable uploads at `path`: `POST` there creates an upload, whose own path is below it.
 *
 * @param path such as `/files`
 * @throws WEIR_OPTION_INVALID
 */
export function uploads(path: string, options: UploadsOptions): Module {
  if (typeof path !== 'string' || !path.startsWith('/')) throw invalid(OWNER, `path is ${shown(path)}, and must begin with a slash`)
  const settings = UPLOADS_RULES.read(options)
  const { storage, locks = memoryLocks(), use, endpoint, name = `uploads ${path}`, onError, clock = systemClock } = settings
  const { maxSize, types, expiresAfter: lifetimeMs, maxMetadataSize } = settings
  const maxOpenSize = settings.maxOpenSize ?? 10 * maxSize
  // Clients would get 429 for some uploads whenever they try again.
  if (maxOpenSize < maxSize && maxSize < Number.POSITIVE_INFINITY)
    throw invalid(OWNER, `maxOpenSize is ${maxOpenSize}, and one upload may have ${maxSize}: write a smaller maxSize, too`)
  const open = new OpenUploads(settings.maxOpenUploads, maxOpenSize)
  const core = new UploadCore(storage, locks, open, { maxSize, types, maxMetadataSize, lifetimeMs }, settings, clock)
  return {
    name,
    install(host) {
      let hasWarned = false
      core.onUntouched = () => {
        if (hasWarned) return
        hasWarned = true
        host.logger?.warn?.(
          `weir: onComplete of ${path} left the bytes of an upload to its expiry: write await upload.moveTo(path), or keep()`,
        )
      }
      if (settings.locks === undefined && cluster.isWorker)
        host.logger?.warn?.(`weir: the locks of ${path} are in the memory of this worker, and others do not see them: set locks`)
      const { answers } = settings
      const group = {
        ...(use === undefined ? {} : { use }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(answers === undefined ? {} : { answers: { 201: null, 204: null, ...answers } }),
      }
      map(host.group(path, group), core)
      let isSweeping = false
      clock.every(Math.min(LONGEST_SWEEP_MS, Math.max(SHORTEST_SWEEP_MS, lifetimeMs / 4)), () => {
        if (isSweeping) return
        isSweeping = true
        core
          .sweep()
          .catch(onError ?? ((error: unknown) => host.logger?.error('weir: uploads that have expired could not be deleted', error)))
          .finally(() => {
            isSweeping = false
          })
      })
    },
  }
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Operation = 'create' | 'status' | 'append' | 'cancel'

function map(group: ModuleHost<string, object>, core: UploadCore): void {
  group.use({ name: 'uploads', beforeSend: sendFields })
  const tus = new Tus(core)
  const draft = new Draft(core)
  /** All requests about uploads have the same form: the protocol that the client speaks handles them. */
  const run = (operation: Operation, session: HttpSession, id: string): Promise<unknown> => {
    stateField(session, 'Cache-Control', 'no-store')
    if (!speaksTus(session, operation)) return operation === 'create' ? draft.create(session) : draft[operation](session, id)
    tus.checkVersion(session)
    return operation === 'create' ? tus.create(session) : tus[operation](session, id)
  }
  const describe = (session: HttpSession): unknown => {
    tus.describe(session)
    draft.describe(session)
    return session.response
      .header('Allow', session.route?.endsWith(':id') === true ? 'DELETE, GET, HEAD, OPTIONS, PATCH, POST' : 'OPTIONS, POST')
      .noContent()
  }
  // The limit of uploads takes the place of the limit of bodies. Ids are secret: a client that has one can continue the upload.
  const streamed = { body: 'stream', maxRequestBodySize: null } as const
  const id = t.string.secret()
  group.map('OPTIONS', '', { use: [RESPONSES.options], summary: 'What resumable uploads may be like' }, (_, session) => describe(session))
  group.mapPost('', { ...streamed, use: [RESPONSES.create], summary: 'Creates a resumable upload' }, (_, session) =>
    run('create', session, ''),
  )
  group.map('OPTIONS', '/:id', { id, use: [RESPONSES.options], summary: 'What resumable uploads may be like' }, (_, session) =>
    describe(session),
  )
  group.mapGet('/:id', { id, use: [RESPONSES.status], summary: 'How far an upload is, without its bytes' }, (args, session) =>
    run('status', session, args.id),
  )
  group.mapPatch('/:id', { ...streamed, id, use: [RESPONSES.append], summary: 'Continues an upload' }, (args, session) =>
    run('append', session, args.id),
  )
  group.mapDelete('/:id', { id, use: [RESPONSES.cancel], summary: 'Cancels an upload' }, (args, session) => run('cancel', session, args.id))
  group.mapPost(
    '/:id',
    { ...streamed, id, use: [RESPONSES.overridden], summary: 'The same for clients that cannot send PATCH or DELETE' },
    (args, session) => run(overridden(session), session, args.id),
  )
}

/** A request of tus has Tus-Resumable. One that only looks like tus is told so. */
function speaksTus({ request }: HttpSession, operation: Operation): boolean {
  if (request.header('tus-resumable') !== null) return true
  if (operation === 'append') return request.header('content-type') === 'application/offset+octet-stream'
  return (
    operation === 'create' &&
    request.header('upload-complete') === null &&
    (request.header('upload-length') ?? request.header('upload-defer-length')) !== null
  )
}

/** @throws WEIR_METHOD_NOT_ALLOWED */
function overridden({ request }: HttpSession): Operation {
  switch (request.header('x-http-method-override')) {
    case 'PATCH':
      return 'append'
    case 'DELETE':
      return 'cancel'
    case 'HEAD':
      return 'status'
    default:
      throw new WeirError('WEIR_METHOD_NOT_ALLOWED', 'POST to an upload needs X-HTTP-Method-Override', {
        headers: { Allow: 'DELETE, GET, HEAD, OPTIONS, PATCH' },
      })
  }
}

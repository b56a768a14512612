// One order (RFC 8555 §7.4): from the names to their certificate. The store knows the order, so that one that a process did not complete is
// continued by the next, which has its key.

import { createPrivateKey } from 'node:crypto'

import type { Clock } from 'weirjs/kit'

import { type CaClient, CaDelay, CaRefusal, objectIn, retryAfterOf } from './ca-client.ts'
import type { Challenges, ChallengeType } from './challenges.ts'
import type { Identifier } from './identifiers.ts'
import { pause } from './pause.ts'
import type { AcmeStore } from './store.ts'
import { StoredCertificate } from './stored-certificate.ts'
import { newKey, pemOf, signingRequest } from './x509.ts'

const SHORTEST_POLL_MS = 1_000
const LONGEST_POLL_MS = 10_000
/** After this time, an unfinished order is replaced by another one, unless the CA is still processing it. */
const LONGEST_PENDING_MS = 86_400_000
const LONGEST_ORDER_MS = 14 * LONGEST_PENDING_MS
const GOING: ReadonlySet<Order['status']> = new Set(['pending', 'ready', 'processing', 'valid'])
const RATE_LIMITED = 'urn:ietf:params:acme:error:rateLimited'
/** For a longer `Retry-After`, the attempt ends, and the order continues then. Challenges stay until the CA has looked. */
const LONGEST_WAIT_MS = 60_000

interface Problem {
  readonly type?: string
  readonly detail?: string
}

interface Order {
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid'
  readonly authorizations: readonly string[]
  readonly finalize: string
  readonly certificate?: string
  readonly error?: Problem
}

interface Authorization {
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked'
  readonly identifier: Identifier
  readonly challenges: readonly {
    readonly type: string
    readonly url: string
    readonly token: string
    readonly status: string
    readonly error?: Problem
  }[]
}

/** An order that may be incomplete, as the store keeps it. */
interface Pending {
  readonly order: string
  /** What was ordered, so that the order is not used for anything else. */
  readonly wanted: string
  readonly key: string
  /** Milliseconds since 1970. */
  readonly begun: number
}

interface OrderContext {
  readonly client: CaClient
  readonly challenges: Challenges
  readonly store: AcmeStore
  readonly clock: Clock
  /** The name of the unfinished order in the store. */
  readonly pendingName: string
  /** Aborts when another process has the order, and answers its challenges. */
  readonly lost: AbortSignal
}

interface Wanted {
  readonly identifiers: readonly Identifier[]
  readonly profile: string | null
  /** The certificate that it replaces, by its id in renewal information; null for none. */
  readonly replaces: string | null
  /** The kinds of challenges that the server can answer, the best first. */
  readonly types: readonly ChallengeType[]
}

/** @throws (rejects) CaRefusal; Error that says what went wrong; the reason of the signal */
export async function obtain(context: OrderContext, wanted: Wanted, signal: AbortSignal): Promise<StoredCertificate> {
  const { client, store, pendingName } = context
  const { pending, order: found } = (await resume(context, wanted, signal)) ?? (await begin(context, wanted, signal))
  const url = pending.order
  const key = createPrivateKey(pending.key)
  try {
    if (found.status === 'pending') await authorize(context, found, wanted.types, signal)
    let order = await settled(context, url, found.status === 'pending' ? null : found, ['pending'], signal)
    if (order.status === 'ready') {
      await client.post(order.finalize, { csr: signingRequest(wanted.identifiers, key).toString('base64url') }, signal)
      order = await settled(context, url, null, ['ready', 'processing'], signal)
    } else order = await settled(context, url, order, ['processing'], signal)
    if (order.status !== 'valid' || order.certificate === undefined) throw new Error(`the order is ${order.status}${told(order.error)}`)
    const { text } = await client.post(order.certificate, null, signal)
    return await checked(pending.key, text, wanted, () => store.delete(pendingName))
  } catch (error) {
    // An order that has failed stays failed. One that has not is continued by the next attempt.
    if (retryAfterOf(error) === null && (await isHopeless(context, pending, signal))) await store.delete(pendingName)
    throw error
  } finally {
    if (context.lost.aborted) context.challenges.forget()
    else await context.challenges.clear()
  }
}

/** @param onWrong called before an error for a certificate that cannot be used */
async function checked(key: string, chain: string, wanted: Wanted, onWrong: () => Promise<void>): Promise<StoredCertificate> {
  try {
    const certificate = StoredCertificate.of(key, chain)
    if (certificate.isFor(wanted.identifiers)) return certificate
    throw new Error('it is for other names')
  } catch (error) {
    await onWrong()
    throw new Error(`the CA has sent a certificate that cannot be used: ${(error as Error).message}`)
  }
}

/** The order of an earlier attempt, if the CA still knows it. */
async function resume({ client, store, clock, pendingName }: OrderContext, wanted: Wanted, signal: AbortSignal): Promise<Begun | null> {
  const pending = pendingIn((await store.get(pendingName)) ?? '')
  if (pending === null || pending.wanted !== nameOf(wanted)) return null
  const age = clock.wallTime() - pending.begun
  if (age > LONGEST_ORDER_MS) return null
  try {
    const { object } = await client.read<Order>(pending.order, signal)
    const isLost = object.status === 'invalid' || (object.status === 'pending' && age > LONGEST_PENDING_MS)
    return isLost ? null : { pending, order: object }
  } catch (error) {
    if (error instanceof CaRefusal && error.status < 500 && error.status !== 429) return null
    throw error
  }
}

/** Null if it is not an order. In that case, another order can begin. */
function pendingIn(text: string): Pending | null {
  try {
    const pending = JSON.parse(text) as Pending
    createPrivateKey(pending.key)
    return URL.canParse(pending.order) && Number.isFinite(pending.begun) ? pending : null
  } catch {
    return null
  }
}

interface Begun {
  readonly pending: Pending
  readonly order: Order
}

async function begin({ client, store, clock, pendingName }: OrderContext, wanted: Wanted, signal: AbortSignal): Promise<Begun> {
  const { newOrder, renewalInfo, meta } = await client.directory(signal)
  const { identifiers, profile, replaces } = wanted
  if (profile !== null && !Object.hasOwn(meta?.profiles ?? {}, profile))
    throw new Error(`the CA has no profile ${JSON.stringify(profile)}: it has ${Object.keys(meta?.profiles ?? {}).join(', ') || 'none'}`)
  const asked = { identifiers, ...(profile === null ? {} : { profile }) }
  const isReplacement = replaces !== null && renewalInfo !== undefined
  const response = await client.post(newOrder, isReplacement ? { ...asked, replaces } : asked, signal).catch((error: unknown) => {
    // The CA may know the old one as replaced already, as that of another account, or not at all (RFC 9773 §5).
    if (isReplacement && error instanceof CaRefusal && mayBeOfReplacement(error)) return client.post(newOrder, asked, signal)
    throw error
  })
  if (response.location === null) throw new Error('the CA did not state the URL of the order')
  const pending = { order: response.location, wanted: nameOf(wanted), key: pemOf(newKey()), begun: clock.wallTime() }
  await store.set(pendingName, JSON.stringify(pending))
  return { pending, order: objectIn(response.text, newOrder) as Order }
}

function mayBeOfReplacement({ status, type }: CaRefusal): boolean {
  return status >= 400 && status < 500 && status !== 429 && type !== RATE_LIMITED
}

async function authorize(context: OrderContext, order: Order, types: readonly ChallengeType[], signal: AbortSignal): Promise<void> {
  const { client, challenges } = context
  const open: { readonly url: string; readonly challenge: Authorization['challenges'][number]; readonly type: ChallengeType }[] = []
  for (const url of order.authorizations) {
    const { object: authorization } = await client.read<Authorization>(url, signal)
    if (authorization.status === 'valid') continue
    if (authorization.status !== 'pending') throw new Error(refusalOf(authorization))
    const { identifier } = authorization
    const offered = authorization.challenges
    const type = types.find((one) => offered.some((challenge) => challenge.type === one))
    const challenge = offered.find((one) => one.type === type)
    if (type === undefined || challenge === undefined) {
      const kinds = offered.map((one) => one.type).join(', ')
      throw new Error(`for ${identifier.value}, the CA offers ${kinds}, and this server answers ${types.join(', ')}`)
    }
    await challenges.present(type, identifier, challenge.token, client.keyAuthorization(challenge.token))
    open.push({ url, challenge, type })
  }
  if (open.some(({ type }) => type === 'tls-alpn-01')) await challenges.spread(signal)
  for (const one of open) if (one.challenge.status === 'pending') await letCheck(client, one.url, one.challenge.url, signal)
  for (const { url } of open) {
    const authorization = await polled<Authorization>(
      context,
      url,
      null,
      (one) => one.status === 'pending',
      Number.POSITIVE_INFINITY,
      signal,
    )
    if (authorization.status !== 'valid') throw new Error(refusalOf(authorization))
  }
}

/** Tells the CA to check. It refuses if a process that had the order before, and was killed, has told it in the meantime. */
async function letCheck(client: OrderContext['client'], authorizationUrl: string, url: string, signal: AbortSignal): Promise<void> {
  try {
    await client.post(url, {}, signal)
  } catch (error) {
    if (!(error instanceof CaRefusal)) throw error
    const { challenges } = (await client.read<Authorization>(authorizationUrl, signal)).object
    if (challenges.find((one) => one.url === url)?.status === 'pending') throw error
  }
}

function settled(
  context: OrderContext,
  url: string,
  known: Order | null,
  unsettled: readonly Order['status'][],
  signal: AbortSignal,
): Promise<Order> {
  return polled<Order>(context, url, known, ({ status }) => unsettled.includes(status), LONGEST_WAIT_MS, signal)
}

/** Asks until the object is settled, as often as the CA wishes. @throws (rejects) CaDelay if it wishes more than `mostMs` between two questions */
async function polled<T>(
  { client, clock }: OrderContext,
  url: string,
  known: T | null,
  isUnsettled: (object: T) => boolean,
  mostMs: number,
  signal: AbortSignal,
): Promise<T> {
  if (known !== null && !isUnsettled(known)) return known
  for (let wait = SHORTEST_POLL_MS; ; wait = Math.min(LONGEST_POLL_MS, wait * 2)) {
    const { object, retryAfterMs } = await client.read<T>(url, signal)
    if (!isUnsettled(object)) return object
    if (retryAfterMs !== null && retryAfterMs > mostMs) throw new CaDelay(url, retryAfterMs)
    await pause(clock, Math.max(SHORTEST_POLL_MS, retryAfterMs ?? wait), signal)
  }
}

/** Whether an order can no longer succeed after a failed attempt: its state is invalid, or it is a day old and the CA is not processing it. */
async function isHopeless({ client, clock }: OrderContext, { order, begun }: Pending, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false
  try {
    const { status } = (await client.read<Order>(order, signal)).object
    return !GOING.has(status) || (status !== 'processing' && clock.wallTime() - begun > LONGEST_PENDING_MS)
  } catch {
    return false
  }
}

/** A name for what is ordered, without parts that may differ between attempts. */
function nameOf({ identifiers, profile }: Wanted): string {
  return JSON.stringify([identifiers, profile])
}

function refusalOf({ identifier, status, challenges }: Authorization): string {
  const failed = challenges.find(({ error }) => error !== undefined)
  return `${identifier.value} is ${status}${failed === undefined ? '' : `, by ${failed.type}`}${told(failed?.error)}`
}

function told(error: Problem | undefined): string {
  return typeof error?.detail === 'string' ? `: ${error.detail}` : ''
}

// A relay carries messages between the processes of a service, on one machine or on many: what `weirjs/relay` makes, and what the option `relay`
// of other modules takes.

import { kindOf } from '../../base/kind-of.ts'
import { func, text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'

/**
 * The position of a subscription that has received nothing. It is the id of no message, and every kept message of the channel comes after it. Ids
 * of Redis and NATS begin with a digit.
 */
export const BEFORE_FIRST = 'first'

/** A message of a channel. */
export interface RelayMessage {
  /**
   * The position of the message in its channel: pass it as `after` to begin with the next one. Ids have no CR, LF or NUL, so they can be ids
   * of events. Null if the relay keeps no messages.
   */
  readonly id: string | null
  readonly data: string
}

/** How a subscription begins, and what it tells. */
export interface RelaySubscribeOptions {
  /**
   * Begin with the messages that the relay keeps after the message with this id. An id that it does not know counts as older than all that it
   * keeps, and `onGap` is called. Default: begin with what is published from now on.
   */
  readonly after?: string | undefined
  /**
   * Called when messages may have been lost: the relay was away and keeps none, or it has dropped those that were missed. It is called once for
   * each gap, in order with the messages, before the first one that follows the gap.
   */
  readonly onGap?: (() => void) | undefined
}

/** The rules of `RelaySubscribeOptions`, which every relay checks. */
export const SUBSCRIBE_RULES = rules<RelaySubscribeOptions>('subscribe()')({ after: text().optional(), onGap: func().optional() })

/** Checks the options of `subscribe`, for relays. @param owner of the relay, for messages @throws WEIR_OPTION_INVALID */
export function checkSubscribe(options: RelaySubscribeOptions, owner: string): void {
  SUBSCRIBE_RULES.read(options, owner)
}

export interface RelaySubscription {
  /** Resolves when everything that is published from now on will be delivered. Rejects if the subscription is closed first. */
  readonly ready: Promise<void>
  /**
   * The id up to which everything has been delivered, known even before the first message: pass it as `after` to continue from here. Null before
   * the subscription is ready, and if the relay keeps no messages.
   */
  readonly position?: string | null
  /** Ends the subscription. The listener is not called after that. */
  close(): void
}

/** How a message is published. */
export interface RelayPublishOptions {
  /**
   * The program's own id of the message, of up to 1,000 characters. A message that is published again in the same channel with the same id, even by
   * another process, is not stored again within two minutes, or for as long as the relay keeps messages if that is less. So a publisher that was
   * restarted can repeat messages that it is not sure about. Needs a relay that keeps messages.
   */
  readonly once?: string
}

/** Carries messages between processes. Every subscriber of a channel gets every message, including messages of its own process, in the same order. */
export interface Relay {
  /** Whether messages reach other processes at this moment. For readiness: `health({ ready: { relay: () => relay.isConnected } })`. */
  readonly isConnected: boolean
  /**
   * Resolves when the relay has the message.
   *
   * @returns the id of the message; with `once`, of the message that was stored first; null if the relay keeps none
   * @throws (rejects) WEIR_RELAY_UNAVAILABLE if the relay is away, or if too much waits for it
   */
  publish(channel: string, data: string, options?: RelayPublishOptions): Promise<string | null>
  /** @param listener called in order. An error that it throws is reported, and the messages continue */
  subscribe(channel: string, listener: (message: RelayMessage) => void, options?: RelaySubscribeOptions): RelaySubscription
  /** Ends all subscriptions and the connections that the relay opened itself. The program's own client stays open. */
  close(): Promise<void>
}

/** @throws WEIR_OPTION_INVALID */
function checkRelay(owner: string, relay: unknown): void {
  if (relay instanceof Promise) throw invalid(owner, 'relay is a promise: await it')
  const missing = ['publish', 'subscribe', 'close'].find((name) => typeof Object(relay)[name] !== 'function')
  // Clients of Redis, connections to NATS and channels of events have all of these functions, or most of them.
  if (missing === undefined && typeof Object(relay).isConnected === 'boolean') return
  const what = `${kindOf(relay)} without ${missing === undefined ? 'isConnected' : `${missing}()`}`
  throw invalid(owner, `relay is ${what}: pass what redisRelay(client), natsRelay(connection) or memoryRelay() returns`)
}

/** The option `relay`. @throws WEIR_OPTION_INVALID */
export function checkedRelay(relay: Relay, owner: string): Relay {
  checkRelay(owner, relay)
  return relay
}

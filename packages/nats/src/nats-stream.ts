// The stream in JetStream that keeps the messages of a relay: creates and checks it, and reads it.
//
// A server publishes each message again once the stream has it, with its sequence and the sequence of the message before it on the same subject
// (`republish`, NATS 2.8.3). So a subscription of core NATS, which costs the server little, is enough to hear messages with their ids and to notice
// when one is missing. Consumers, which the server would have to keep for every channel of every process, are not used.

import { invalid } from 'weirjs/kit'
import type { NatsJetStream, NatsJetStreamManager, NatsStreamConfig, NatsStreamInfo } from './nats-client.ts'
import { type NatsLink, unavailable } from './nats-link.ts'
import { subjectToken } from './nats-subject.ts'

export interface NatsStreamOptions {
  readonly owner: string
  readonly jetstream: NatsJetStream
  readonly prefix: string
  readonly stream: string
  /** How many messages of each channel are kept. Undefined if the program does not state it, like `maxAgeMs`. */
  readonly maxLength: number | undefined
  readonly maxAgeMs: number | undefined
  /** How long a publisher may send a message again. */
  readonly timeoutMs: number
}

interface StoredMessage {
  readonly seq: number
  readonly data: string
}

/** The stream at one moment. */
export interface StreamState {
  /** When it was created: the sequences of another stream have no meaning. */
  readonly created: string
  /** Sequences of the first message that is kept and of the last, of any channel. Of an empty stream, the first is one more than the last. */
  readonly first: number
  readonly last: number
  /** How many messages of a channel are kept at most; 0 for no limit. */
  readonly maxLength: number
}

const DEFAULT_LENGTH = 1_000
export const DEFAULT_AGE_MS = 86_400_000
const NANOSECONDS = 1_000_000
/** The server remembers ids of messages for so long. Its default. */
const DUPLICATE_WINDOW_MS = 120_000
/** Requests for messages at a time. */
const MOST_READS = 32
const STREAM_NOT_FOUND = 10_059
const NAME_IN_USE = 10_058

export class NatsStream {
  readonly #options: NatsStreamOptions
  readonly #link: NatsLink
  readonly #onReplaced: () => void
  #manager: NatsJetStreamManager | null = null
  #state: Promise<StreamState> | null = null
  #created = ''
  #hasWarned = false
  #reads = 0
  readonly #turns: (() => void)[] = []

  /** @param onReplaced called when another stream has taken the place of the stream that was there before */
  constructor(options: NatsStreamOptions, link: NatsLink, onReplaced: () => void) {
    this.#options = options
    this.#link = link
    this.#onReplaced = onReplaced
  }

  /** Where a message of the channel is published. */
  subjectOf(channel: string): string {
    return `${this.#options.prefix}.kept.${subjectToken(channel)}`
  }

  /** Where the server publishes it again. */
  liveSubjectOf(channel: string): string {
    return `${this.#options.prefix}.live.${subjectToken(channel)}`
  }

  /**
   * Creates the stream if there is none.
   *
   * @throws (rejects) WEIR_OPTION_INVALID if there is one that cannot be used; what the client rejects with
   */
  state(): Promise<StreamState> {
    this.#state ??= (async () => {
      await null // one request for all calls of this tick
      this.#state = null
      return await this.#readState()
    })()
    return this.#state
  }

  async #readState(): Promise<StreamState> {
    const { config, created, state } = await this.#find()
    const isReplaced = this.#created !== '' && this.#created !== created
    this.#created = created
    if (isReplaced) this.#onReplaced()
    // The state of a stream that never had a message has 0 for both.
    return { created, first: Math.max(state.first_seq, 1), last: state.last_seq, maxLength: Math.max(config.max_msgs_per_subject, 0) }
  }

  /** Returns the first message of a channel from a sequence on, or null if there is none yet. */
  async next(subject: string, seq: number): Promise<StoredMessage | null> {
    if (this.#reads >= MOST_READS) await new Promise<void>((resolve) => this.#turns.push(resolve))
    else this.#reads++
    try {
      const { streams } = await this.#open()
      const message = await this.#link.whileUp(() => streams.getMessage(this.#options.stream, { seq, next_by_subj: subject }))
      return message === null ? null : { seq: message.seq, data: message.string() }
    } finally {
      const turn = this.#turns.shift()
      if (turn === undefined) this.#reads--
      else turn()
    }
  }

  /** How many messages of a channel are kept. */
  async count(subject: string): Promise<number> {
    const { streams } = await this.#open()
    const { state } = await this.#link.whileUp(() => streams.info(this.#options.stream, { subjects_filter: subject }))
    return state.subjects?.[subject] ?? 0
  }

  async #open(): Promise<NatsJetStreamManager> {
    this.#manager ??= await this.#options.jetstream.jetstreamManager(false)
    return this.#manager
  }

  async #find(): Promise<NatsStreamInfo> {
    const { streams } = await this.#open()
    try {
      return await this.#info()
    } catch (error) {
      if (codeOf(error) !== STREAM_NOT_FOUND) throw error
    }
    await this.#link
      .whileUp(() => streams.add(this.#config()))
      .catch((error: unknown) => {
        if (codeOf(error) !== NAME_IN_USE) throw error // another process has just created it
      })
    return await this.#info()
  }

  async #info(): Promise<NatsStreamInfo> {
    const { streams } = await this.#open()
    const info = await this.#link.whileUp(() => streams.info(this.#options.stream))
    // For a moment, a server knows a stream, but not its creation time.
    if (info.created.startsWith('0001-')) throw unavailable('the stream is just being made')
    this.#check(info.config)
    return info
  }

  #config(): Parameters<NatsJetStreamManager['streams']['add']>[0] {
    const { maxAgeMs = DEFAULT_AGE_MS, maxLength = DEFAULT_LENGTH, prefix, stream, timeoutMs } = this.#options
    return {
      name: stream,
      subjects: [`${prefix}.kept.*`],
      max_msgs_per_subject: maxLength,
      max_age: maxAgeMs * NANOSECONDS,
      duplicate_window: Math.min(Math.max(DUPLICATE_WINDOW_MS, 2 * timeoutMs), maxAgeMs) * NANOSECONDS,
      republish: { src: `${prefix}.kept.*`, dest: `${prefix}.live.{{wildcard(1)}}` },
    }
  }

  /** An existing stream is never changed, because others may use it. */
  #check(config: NatsStreamConfig): void {
    const { maxAgeMs, maxLength, owner, prefix, stream, timeoutMs } = this.#options
    const wanted = this.#config()
    const refuse = (detail: string): never => {
      throw invalid(owner, `the stream "${stream}" ${detail}. Change it, or name another stream`)
    }
    const [subject] = wanted.subjects
    if (!config.subjects.some((one) => one === subject || one === `${prefix}.kept.>` || one === `${prefix}.>`))
      refuse(`does not have the subject ${subject}`)
    const { republish } = config
    if (!isSameRepublish(prefix, republish)) refuse(`does not republish ${wanted.republish.src} to ${wanted.republish.dest}`)
    if (republish?.headers_only === true) refuse('republishes headers only')
    if (config.retention !== undefined && config.retention !== 'limits') refuse(`has the retention "${config.retention}", not "limits"`)
    if (config.duplicate_window < timeoutMs * NANOSECONDS)
      refuse(`has a duplicate window of ${config.duplicate_window / NANOSECONDS} ms, which is less than timeout (${timeoutMs} ms)`)
    const differs = (name: string, given: number | undefined, actual: number): string =>
      given === undefined || given === Math.max(actual, 0)
        ? ''
        : ` ${name} is ${given}, that of the stream is ${actual <= 0 ? 'unlimited' : actual}.`
    const differences =
      differs('maxLength', maxLength, config.max_msgs_per_subject) + differs('maxAge in ms', maxAgeMs, config.max_age / NANOSECONDS)
    if (differences === '' || this.#hasWarned) return
    this.#hasWarned = true
    process.emitWarning(`${owner}: the stream "${stream}" is used as it is:${differences}`)
  }
}

/** Either form names the same subjects. */
function isSameRepublish(prefix: string, republish: NatsStreamConfig['republish']): boolean {
  const src = republish?.src
  const dest = republish?.dest
  if (src === `${prefix}.kept.>`) return dest === `${prefix}.live.>`
  return src === `${prefix}.kept.*` && (dest === `${prefix}.live.{{wildcard(1)}}` || dest === `${prefix}.live.$1`)
}

/** The server's own number of an error; undefined if it did not reply. */
function codeOf(error: unknown): unknown {
  return Object(error).code
}

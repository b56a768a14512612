// A relay whose every step a test decides on.

import type { Relay, RelayMessage, RelaySubscribeOptions, RelaySubscription } from '../../src/modules/relay/index.ts'
import { type Gate, gate } from './serving.ts'

export interface FakeSubscription {
  readonly channel: string
  readonly options: RelaySubscribeOptions
  readonly ready: Gate
  isClosed: boolean
  tell(data: string, id?: string | null): void
  gap(): void
}

export class FakeRelay implements Relay {
  isConnected = true
  /** Whether subscriptions are ready immediately. */
  isReady = true
  /** Of its subscriptions. */
  position: string | null | undefined
  readonly published: string[] = []
  readonly subscriptions: FakeSubscription[] = []
  onPublish: (data: string) => Promise<string | null> = () => Promise.resolve(null)

  /** The subscriptions that have not been closed. */
  get open(): readonly FakeSubscription[] {
    return this.subscriptions.filter(({ isClosed }) => !isClosed)
  }

  publish(_channel: string, data: string): Promise<string | null> {
    this.published.push(data)
    return this.onPublish(data)
  }

  subscribe(channel: string, listener: (message: RelayMessage) => void, options: RelaySubscribeOptions = {}): RelaySubscription {
    const ready = gate()
    if (this.isReady) ready.open()
    const subscription: FakeSubscription = {
      channel,
      options,
      ready,
      isClosed: false,
      tell: (data, id = null) => {
        if (!subscription.isClosed) listener({ id, data })
      },
      gap: () => {
        if (!subscription.isClosed) options.onGap?.()
      },
    }
    this.subscriptions.push(subscription)
    return {
      ready: ready.promise,
      ...(this.position !== undefined && { position: this.position }),
      close: () => void (subscription.isClosed = true),
    }
  }

  async close(): Promise<void> {}
}

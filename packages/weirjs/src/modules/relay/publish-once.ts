// The id that a program gives a message, so that the message is stored once even if it is published again.

import { hash } from 'node:crypto'
import { text } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'
import { invalid } from '../../base/options.ts'
import type { RelayPublishOptions } from './relay-option.ts'

const MOST_CHARACTERS = 1_000
/** @internal */
export const PUBLISH_RULES = rules<RelayPublishOptions>('publish()')({
  once: text(`a text of 1 to ${MOST_CHARACTERS} characters`, (once) => once !== '' && once.length <= MOST_CHARACTERS).orNull(),
})

/** @returns null for none @throws WEIR_OPTION_INVALID, also for a relay that keeps nothing */
export function onceOf(owner: string, options: RelayPublishOptions, keeps: boolean): string | null {
  const { once } = PUBLISH_RULES.read(options, `${owner}: publish`)
  if (once !== null && !keeps) throw invalid(owner, 'publish: once, and ResumableStreams, need a relay that keeps messages')
  return once
}

/** The id as a short name without special characters, which differs for each channel. */
export function onceName(channel: string, once: string): string {
  return hash('sha256', JSON.stringify([channel, once]), 'base64url')
}

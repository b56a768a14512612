// The id that a program gives a message, so that it is stored once although it is published again.

import { hash } from 'node:crypto'
import { shown } from '../../base/kind-of.ts'
import { checkNames, invalid, namesOf } from '../../base/options.ts'
import type { RelayPublishOptions } from './relay-option.ts'

const OPTION_NAMES = namesOf<RelayPublishOptions>()(['once'])
const MOST_CHARACTERS = 1_000
/** How long a message is recognized at least, where the relay decides. */
export const ONCE_MS: number = 2 * 60_000

/** @returns null for none @throws WEIR_OPTION_INVALID, also for a relay that keeps nothing */
export function onceOf(owner: string, options: RelayPublishOptions, keeps: boolean): string | null {
  checkNames(owner, options, OPTION_NAMES)
  const { once } = options
  if (once === undefined) return null
  if (!keeps) throw invalid(owner, 'publish: once needs a relay that keeps messages')
  if (typeof once !== 'string' || once === '' || once.length > MOST_CHARACTERS)
    throw invalid(owner, `publish: once is ${shown(once)}, not a text of 1 to ${MOST_CHARACTERS} characters`)
  return once
}

/** The same as a short name without special characters. Each channel has its own. */
export function onceName(channel: string, once: string): string {
  return hash('sha256', JSON.stringify([channel, once]), 'base64url')
}

// Sessions in sealed cookies.

import { readBy } from '../../base/option-kinds.ts'
import { rules } from '../../base/option-rules.ts'

import { KeyRing, type SealingKey } from './key-ring.ts'

export interface SealedOptions {
  /**
   * Each 32 random bytes, or their text in base64, base64url or hexadecimal. The first one seals, and all of them open: to replace a key, add
   * the new one as the first, and remove the old one when the longest session has ended.
   */
  readonly keys: readonly SealingKey[]
}

const OWNER = 'sealed()'
/** @internal */
export const SEALED_RULES = rules<SealedOptions>(OWNER)({ keys: readBy((keys: readonly SealingKey[], owner) => new KeyRing(owner, keys)) })

/** Sessions that the client keeps. */
export class SealedSessions {
  /** @internal */
  readonly ring: KeyRing

  /** @internal */
  constructor(ring: KeyRing) {
    this.ring = ring
  }
}

/**
 * Keeps sessions in their cookies, encrypted and authenticated with XAES-256-GCM: AES-256-GCM with a key derived for each cookie. There is no
 * store. The client can read or change nothing, but it can send an older cookie again as long as that is not expired: a single session
 * cannot be revoked, only all of them, or all sessions of one user, with `notBefore`.
 * @throws WEIR_OPTION_INVALID
 */
export function sealed(options: SealedOptions): SealedSessions {
  return new SealedSessions(SEALED_RULES.read(options).keys)
}

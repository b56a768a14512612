// The public API of weirjs/sessions.

export type { SealingKey } from './key-ring.ts'
export { type MemorySessionsOptions, memorySessions } from './memory-sessions.ts'
export { returnPath } from './return-path.ts'
export { type SealedOptions, type SealedSessions, sealed } from './sealed.ts'
export type { SessionCookieOptions } from './session-cookie.ts'
export type { SessionPrincipal } from './session-record.ts'
export type { SessionStore } from './session-store.ts'
export { type Sessions, type SessionsOptions, type SignIn, sessions } from './sessions.ts'
export { type OpenedSession, type SealedCookies, type SessionsHandle, sessionsHandle } from './sessions-handle.ts'
export type { StoredObject } from './stored-value.ts'
export type { UserSession } from './user-session.ts'

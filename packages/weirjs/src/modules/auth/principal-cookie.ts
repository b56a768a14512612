// Which `sessions()` has set a principal. All of them have one scheme, and may give the same id to different people: their cookies tell them apart.

/** The names of the cookies of principals, and of the schemes that set them. */
const COOKIES = new WeakMap<object, string>()

export function notePrincipalCookie(of: object, cookie: string): void {
  COOKIES.set(of, cookie)
}

/** Undefined for a principal or a scheme that is not of a `sessions()`. */
export function principalCookieOf(of: object): string | undefined {
  return COOKIES.get(of)
}

// Pages that only the person who has started a server may use: a link with a token, and checks of who asks.

export { endpointOrigin } from '../launch/endpoint-origin.ts'
export { type LaunchHost, launchHost, setLaunchHost } from '../launch/launch-host.ts'
export { LAUNCH_POLICY, type LaunchWords, launchPage, printedLink } from '../launch/launch-page.ts'
export { isLaunchToken, LaunchToken, newLaunchToken, TOKEN_FORM } from '../launch/launch-token.ts'
export { hostAsked, refusalOf } from '../launch/local-access.ts'

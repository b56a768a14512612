import Link from 'next/link'

export const metadata = { title: 'Next in weir' }

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <nav>
          <Link href="/">Home</Link> <Link href="/other">Other</Link> <Link href="/slow">Slow</Link>
        </nav>
        {children}
      </body>
    </html>
  )
}

from mainspring.cli import main

main()

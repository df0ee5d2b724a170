"""Files that earlier versions wrote, and the test that this version still reads them."""
